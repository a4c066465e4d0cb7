#include "registry/base/byte_size.hpp"

#include <catch2/catch_all.hpp>

#include <random>

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

std::uint64_t bytes(std::string_view text) {
  const auto result = parse_byte_size(text);
  INFO(text);
  REQUIRE(std::holds_alternative<ByteSize>(result));
  return std::get<ByteSize>(result).bytes;
}

std::string problem(std::string_view text) {
  const auto result = parse_byte_size(text);
  INFO(text);
  REQUIRE(std::holds_alternative<std::string>(result));
  return std::get<std::string>(result);
}

}  // namespace

TEST_CASE("byte size: thousands and powers of two", "[byte_size]") {
  CHECK(bytes("25MB") == 25'000'000);
  CHECK(bytes("25MiB") == 25 * 1024 * 1024);
  CHECK(bytes("1.5GB") == 1'500'000'000);
  CHECK(bytes("0.57kB") == 570);
  CHECK(bytes("512B") == 512);
  CHECK(bytes("0B") == 0);
  CHECK(bytes("1TiB") == 1'099'511'627'776);
}

TEST_CASE("byte size: what is no size says why", "[byte_size]") {
  CHECK_THAT(problem("25"), ContainsSubstring("needs a unit (B, kB, MB"));
  CHECK_THAT(problem("lots"), ContainsSubstring("needs a number and a unit, such as \"25MB\""));
  CHECK_THAT(problem("0.5B"), ContainsSubstring("whole number of bytes"));
  CHECK_THAT(problem("1.0001kB"), ContainsSubstring("whole number of bytes"));
  CHECK_THAT(problem("9000000TB"), ContainsSubstring("larger than any memory"));
  CHECK_THAT(problem("1Mb "), ContainsSubstring("did you mean"));
  CHECK_THAT(problem("-1MB"), ContainsSubstring("not negative"));
}

TEST_CASE("byte size: any size reads back as itself", "[byte_size]") {
  CHECK(to_string(ByteSize{25'000'000}) == "25MB");
  CHECK(to_string(ByteSize{1 << 20}) == "1MiB");
  CHECK(to_string(ByteSize{0}) == "0B");
  std::mt19937_64 random(1);
  for (int shift = 12; shift < 64; ++shift) {
    for (int i = 0; i < 50; ++i) {
      const ByteSize size{random() >> shift};
      CHECK(bytes(to_string(size)) == size.bytes);
      const ByteSize round{size.bytes / 1024 / 1024 * 1024};
      CHECK(bytes(to_string(round)) == round.bytes);
    }
  }
}

TEST_CASE("byte size: rounded for people", "[byte_size]") {
  CHECK(approximately({43'712'345}) == "43.7 MB");
  CHECK(approximately({999}) == "999 B");
  CHECK(approximately({123'456'789'012}) == "123 GB");
  CHECK(approximately({0}) == "0 B");
}

TEST_CASE("two sizes never look the same", "[sizes]") {
  using Texts = std::pair<std::string, std::string>;
  CHECK(distinguishable({43'712'345}, {1'100'000}) == Texts{"43.7 MB", "1.1 MB"});
  CHECK(distinguishable({1'102'336}, {1'101'824}) == Texts{"1102336 B", "1101824 B"});
}

}  // namespace runner
