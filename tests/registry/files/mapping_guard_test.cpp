#include "registry/files/mapping_guard.hpp"

#include <catch2/catch_all.hpp>

#include <filesystem>

#include "registry/files/io_error.hpp"
#include "registry/files/mapped_file.hpp"
#include "registry/files/private_mapping.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {

using Catch::Matchers::ContainsSubstring;
using testing::TemporaryFolder;
using testing::write_file;

TEST_CASE("a mapped file that is truncated gives zeros, and is named") {
  const TemporaryFolder folder;
  const auto path = write_file(folder / "data.bin", std::string(1 << 20, 'x'));
  {
    const MappedFile file(path);
    REQUIRE_NOTHROW(require_whole_files());
    std::filesystem::resize_file(path, 4096);
    CHECK(file.bytes()[0] == 'x');
    CHECK(file.bytes()[500'000] == 0);
    CHECK(file.bytes().back() == 0);
    CHECK_THROWS_WITH(require_whole_files(),
                      ContainsSubstring("data.bin") && ContainsSubstring("was truncated"));
  }
  const MappedFile other(write_file(folder / "whole.bin", std::string(10, 'y')));
  CHECK_NOTHROW(require_whole_files());
}

TEST_CASE("a mapped file stays guarded when an empty one is closed") {
  const TemporaryFolder folder;
  const auto path = write_file(folder / "data.bin", std::string(1 << 20, 'x'));
  auto empty = PrivateMapping::open(write_file(folder / "empty.bin", ""));
  const MappedFile file(path);
  empty.reset();
  std::filesystem::resize_file(path, 4096);
  CHECK(file.bytes().back() == 0);
  CHECK_THROWS_WITH(require_whole_files(), ContainsSubstring("data.bin"));
}

}  // namespace runner
