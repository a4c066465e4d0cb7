// Python's own zip reader judges the archives, in tests/python/test_trackers_comet.py.
#include "components/trackers/zip_writer.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

TEST_CASE("zip: a file that cannot be read to its end is an error, not a shorter entry") {
  const testing::TemporaryFolder folder;
  ZipWriter archive(folder / "x.zip");
  // A folder can be opened, but reading it fails.
  CHECK_THROWS_WITH(archive.add_file("x", folder.path()), Catch::Matchers::ContainsSubstring("Cannot read"));
}

}  // namespace
}  // namespace runner
