#include <algorithm>
#include <catch2/catch_all.hpp>

#include "components/support/io/written_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

// Digests of the Python packages hashlib and xxhash (xxh3_128_hexdigest).
TEST_CASE("a written file has the digests that other tools compute") {
  std::string text;
  for (int i = 0; i < 256000; ++i) text += static_cast<char>(i % 256);
  const WrittenFile written = written_file(text);
  CHECK(written.size == 256000);
  CHECK(written.sha256 == "b57b64b198d5d59ce5a22a9b9f25e72a7d081476d432051aa923f3dbebb90934");
  CHECK(written.xxh3 == "548512d98989de2d776474c39d20f9aa");
  CHECK(written_file("").xxh3 == "99aa06d3014798d86001c324468d497f");
  CHECK(written_file("abc").xxh3 == "06b05ab6733a618578af5f94892f3950");
}

TEST_CASE("a written file has the same digests in pieces, whole, and read from the disk") {
  std::string text;
  for (int i = 0; i < 600000; ++i) text += static_cast<char>(i % 251);
  const WrittenFile whole = written_file(text);

  WrittenFileDigest digest;
  const auto bytes = std::as_bytes(std::span(text));
  for (std::size_t at = 0, size = 1; at < bytes.size(); at += size, size = 3 * size + 1)
    digest.update(bytes.subspan(at, std::min(size, bytes.size() - at)));
  const WrittenFile in_pieces = digest.result();
  CHECK(in_pieces.size == whole.size);
  CHECK(in_pieces.sha256 == whole.sha256);
  CHECK(in_pieces.xxh3 == whole.xxh3);

  const TemporaryFolder folder;
  const auto path = write_file(folder / "a", text);
  CHECK(read_written_file(path).sha256 == whole.sha256);
  CHECK(read_written_file(path).xxh3 == whole.xxh3);
  CHECK(xxh3_of_file(path) == whole.xxh3);
  CHECK(xxh3_of_file(write_file(folder / "empty", "")) == written_file("").xxh3);
}
