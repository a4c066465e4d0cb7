#include "registry/files/folders.hpp"

#include <sys/stat.h>

#include <catch2/catch_all.hpp>
#include <set>

#include "registry/files/io_error.hpp"
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

TEST_CASE("a TMPDIR that is not a folder is named", "[io]") {
  const TemporaryFolder folder;
  {
    const EnvironmentVariable there("TMPDIR", folder.path().string());
    CHECK(temporary_folder() == folder.path());
  }
  const EnvironmentVariable missing("TMPDIR", (folder / "nope").string());
  CHECK_THROWS_WITH(temporary_folder(), "TMPDIR is \"" + (folder / "nope").string() +
                                            "\", which is not a folder; set it to one that can be written.");
}

TEST_CASE("folders that a crash left are removed, and one that was being replaced gets its name back",
          "[io]") {
  const TemporaryFolder folder;
  write_file(folder / ".unfinished-a-77/file", "half");
  write_file(folder / ".replaced-a/file", "old");
  write_file(folder / ".replaced-b/file", "old");
  write_file(folder / "b/file", "new");
  clear_unfinished_folders(folder.path());
  CHECK(read_text(folder / "a/file") == "old");
  CHECK(read_text(folder / "b/file") == "new");
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator{}) == 2);
}

TEST_CASE("a folder that is written removes what killed processes have left of it, and nothing else",
          "[io]") {
  const TemporaryFolder folder;
  const fs::path state = folder / "state";
  for (const char* left : {".unfinished-state-77", ".unfinished-state-4711", ".replaced-state"})
    write_file(folder / left / "file", "left");
  write_file(state / "file", "old");
  for (const char* other : {".unfinished-state-2-77", ".unfinished-hooks-state-77", ".unfinished-state-mine"})
    write_file(folder / other / "file", "of another");
  {
    TemporaryFolderBeside again(state);
    write_file(again.path() / "file", "new");
    again.commit();
  }
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) names.insert(entry.path().filename());
  CHECK(names == std::set<std::string>{".unfinished-hooks-state-77", ".unfinished-state-2-77",
                                       ".unfinished-state-mine", "state"});
  CHECK(read_text(state / "file") == "new");
}

TEST_CASE("a folder that was being replaced when the process was killed gets its name back", "[io]") {
  const TemporaryFolder folder;
  write_file(folder / ".replaced-state/file", "old");
  recover_folder(folder / "state");
  CHECK(read_text(folder / "state/file") == "old");
  write_file(folder / ".replaced-state/file", "older");
  recover_folder(folder / "state");
  CHECK(read_text(folder / "state/file") == "old");
}
