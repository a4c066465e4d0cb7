#include <algorithm>
#include <catch2/catch_all.hpp>

#include "registry/files/io_error.hpp"
#include "registry/files/written_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

std::string counted(std::size_t size, std::size_t period) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i % period);
  return text;
}

}  // namespace

// Digests of the Python packages hashlib and xxhash: hashlib.sha256(b), and of pieces
// xxh3_128(b"".join(xxh3_128(b[i:i+(4<<20)]).digest() for i in range(0, len(b), 4<<20))).
TEST_CASE("a written file has the digests that other tools compute") {
  const WrittenFile written = written_file(counted(256000, 256));
  CHECK(written.size == 256000);
  CHECK(written.sha256 == "b57b64b198d5d59ce5a22a9b9f25e72a7d081476d432051aa923f3dbebb90934");
  CHECK(written.xxh3_of_pieces == "6102ed174bdf7d51c0f69c6e575d266a");
  CHECK(written_file("").xxh3_of_pieces == "99aa06d3014798d86001c324468d497f");
  CHECK(written_file("abc").xxh3_of_pieces == "f758394eebabb2bb51ee911f78f31836");
  const WrittenFile several = written_file(counted(9'000'000, 251));
  CHECK(several.sha256 == "50e15bcc0d6952e86099e0a83adba651c27f6897a2513cb07c9aefed78682cd3");
  CHECK(several.xxh3_of_pieces == "0cf3ac49e79301b5d08f03bea7f6dedf");
  CHECK(written_file(counted(std::size_t{4} << 20, 251)).xxh3_of_pieces ==
        "1eb8c0315e1ad52b3fab429132267e94");
}

TEST_CASE("a written file has the same digests in parts, whole, and read from the disk") {
  const std::string text = counted(9'000'000, 251);
  const WrittenFile whole = written_file(text);

  WrittenFileDigest digest;
  const auto bytes = std::as_bytes(std::span(text));
  for (std::size_t at = 0, size = 1; at < bytes.size(); at += size, size = 3 * size + 1)
    digest.update(bytes.subspan(at, std::min(size, bytes.size() - at)));
  const WrittenFile in_parts = digest.result();
  CHECK(in_parts.size == whole.size);
  CHECK(in_parts.sha256 == whole.sha256);
  CHECK(in_parts.xxh3_of_pieces == whole.xxh3_of_pieces);

  const TemporaryFolder folder;
  const auto path = write_file(folder / "a", text);
  CHECK(read_written_file(path).sha256 == whole.sha256);
  CHECK(read_written_file(path).xxh3_of_pieces == whole.xxh3_of_pieces);
  CHECK(xxh3_of_pieces(path) == whole.xxh3_of_pieces);
  CHECK(xxh3_of_pieces(write_file(folder / "empty", "")) == written_file("").xxh3_of_pieces);
  CHECK_THROWS_AS(xxh3_of_pieces(folder / "nowhere"), IoError);
  // Each piece counts, and its place.
  std::string swapped = text;
  std::ranges::swap_ranges(std::span(swapped).first(1 << 20), std::span(swapped).subspan(4 << 20, 1 << 20));
  CHECK(xxh3_of_pieces(write_file(folder / "swapped", swapped)) != whole.xxh3_of_pieces);
}
