#include "registry/files/lines.hpp"

#include <sys/stat.h>

#include <catch2/catch_all.hpp>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

using Texts = std::vector<std::string>;

Texts all(const std::filesystem::path& path, std::uint64_t begin = 0) {
  Texts lines;
  BackwardLines reader(path, begin);
  while (const auto line = reader.next()) {
    lines.emplace_back(line->text);
    CHECK(read_text(path).substr(line->offset, line->text.size()) == line->text);
  }
  return lines;
}

}  // namespace

TEST_CASE("lines of a file come from the last one to the first, with their places") {
  const TemporaryFolder folder;
  const auto lines_of = [&](const std::string& text) {
    write_file(folder / "text", text);
    return all(folder / "text");
  };
  CHECK(lines_of("").empty());
  CHECK(lines_of("one") == Texts{"one"});
  CHECK(lines_of("one\n") == Texts{"one"});
  CHECK(lines_of("\n") == Texts{""});
  CHECK(lines_of("one\n\nthree\nfour") == Texts{"four", "three", "", "one"});
  CHECK(all(folder / "missing").empty());
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(all(folder / "pipe").empty());  // without waiting for a writer
  write_file(folder / "text", "header\n1\n2\n");
  CHECK(all(folder / "text", 7) == Texts{"2", "1"});
  CHECK(all(folder / "text", 100).empty());
}

TEST_CASE("lines of a file may be longer than what is read at once") {
  const TemporaryFolder folder;
  std::string text;
  Texts expected;
  for (int i = 0; i < 40; ++i) {
    expected.insert(expected.begin(),
                    std::string(static_cast<std::size_t>(i * 7919 % 150'000), 'a' + i % 26));
    text += expected.front() + "\n";
  }
  write_file(folder / "text", text);
  CHECK(all(folder / "text") == expected);
}

TEST_CASE("lines of a file that grows come from the first to the last, only whole ones") {
  const TemporaryFolder folder;
  const std::string long_line(3'000'000, 'x');  // longer than what is read at once
  write_file(folder / "text", "one\n\n" + long_line + "\nfour\nfi");
  const OpenFile file(folder / "text");
  Lines lines(file);
  Texts read;
  std::uint64_t after = 0;
  while (const auto line = lines.next()) {
    read.emplace_back(*line);
    after = lines.after();
  }
  CHECK(read == Texts{"one", "", long_line, "four"});
  write_file(folder / "text", "one\n\n" + long_line + "\nfour\nfive\n");
  const OpenFile grown(folder / "text");
  Lines rest(grown, after);
  CHECK(rest.next() == "five");
  CHECK_FALSE(rest.next());
}

TEST_CASE("a line without an end is refused in both directions, before it fills the memory") {
  const TemporaryFolder folder;
  write_file(folder / "text", "one\n");
  std::filesystem::resize_file(folder / "text", std::uint64_t{4} << 30);  // sparse
  const OpenFile file(folder / "text");
  Lines lines(file);
  CHECK(lines.next() == "one");
  CHECK_THROWS_AS(lines.next(), IoError);
  BackwardLines backwards(folder / "text");
  CHECK_THROWS_AS(backwards.next(), IoError);
}
