#include "components/support/io/folders.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

namespace fs = std::filesystem;

TEST_CASE("a link is moved in one step, and a folder in its place is put aside, not deleted", "[io]") {
  const TemporaryFolder folder;
  const fs::path link = folder / "latest";
  point_link(link, "one");
  point_link(link, "two");
  CHECK(fs::read_symlink(link) == "two");
  for (const char* aside : {"latest-copy", "latest-copy-2"}) {
    fs::remove(link);
    write_file(link / "kept.txt", aside);
    point_link(link, "three");
    CHECK(fs::read_symlink(link) == "three");
    CHECK(read_text(folder / aside / "kept.txt") == aside);
  }
}
