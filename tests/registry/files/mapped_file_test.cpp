#include "registry/files/mapped_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_all.hpp>

#include "registry/files/open_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string text_of(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

TEST_CASE("a mapped file shows the file's bytes and can be moved") {
  const TemporaryFolder folder;
  MappedFile file(write_file(folder / "a.bin", "some bytes"));
  CHECK(text_of(file.bytes()) == "some bytes");
  MappedFile moved = std::move(file);
  CHECK(text_of(moved.bytes()) == "some bytes");
  file = MappedFile(write_file(folder / "b.bin", "others"));
  std::swap(file, moved);
  CHECK(text_of(file.bytes()) == "some bytes");
  CHECK(text_of(moved.bytes()) == "others");
}

TEST_CASE("what cannot be mapped is refused with its name and the reason") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(MappedFile(folder / "none.bin"),
                    ContainsSubstring("none.bin") && ContainsSubstring("No such file"));
  CHECK_THROWS_WITH(MappedFile(folder.path()), ContainsSubstring("is a folder"));
  CHECK_THROWS_WITH(MappedFile(write_file(folder / "empty.bin", "")),
                    ContainsSubstring("empty.bin is empty"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(MappedFile(folder / "pipe"), ContainsSubstring("not a regular file"));
}

TEST_CASE("a file that may not be read is refused with its name") {
  if (::geteuid() == 0) SKIP("root may read everything");
  const TemporaryFolder folder;
  const auto path = write_file(folder / "secret.bin", "x");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  CHECK_THROWS_WITH(MappedFile(path),
                    ContainsSubstring("secret.bin") && ContainsSubstring("Permission denied"));
}

TEST_CASE("reading a file reuses the buffer and gives exactly its bytes") {
  const TemporaryFolder folder;
  std::vector<std::uint8_t> buffer(100, 7);
  read_file(write_file(folder / "a", "abc"), buffer, 3);
  CHECK(text_of(buffer) == "abc");
  read_file(write_file(folder / "b", ""), buffer, 3);
  CHECK(buffer.empty());
  CHECK_THROWS_AS(read_file(folder / "none", buffer, 3), IoError);
  CHECK_THROWS_WITH(read_file(write_file(folder / "c", "abcd"), buffer, 3), ContainsSubstring("limit of 3"));
}
