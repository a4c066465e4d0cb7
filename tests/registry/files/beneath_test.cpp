#include "registry/files/beneath.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <catch2/catch_all.hpp>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

namespace {

// 0, or why the file cannot be opened.
int problem_of(const fs::path& folder, const fs::path& name, int flags = O_RDONLY) {
  const int file = open_beneath(folder, name, flags);
  const int problem = file < 0 ? errno : 0;
  if (file >= 0) ::close(file);
  return problem;
}

}  // namespace

TEST_CASE("nothing outside a folder is opened, however a name in it leads there") {
  const TemporaryFolder scratch;
  const fs::path folder = scratch / "run", outside = scratch / "outside";
  write_file(folder / "deep/file", "own");
  write_file(outside / "file", "precious");
  fs::create_symlink("deep/file", folder / "inside");
  fs::create_symlink("../outside/file", folder / "relative");
  fs::create_symlink(outside / "file", folder / "absolute");
  fs::create_symlink(outside, folder / "linked");
  fs::create_symlink("/proc/self/root", folder / "magic");
  CHECK(problem_of(folder, "deep/file") == 0);
  CHECK(problem_of(folder, "inside") == 0);
  CHECK(problem_of(folder, "missing") == ENOENT);
  for (const fs::path& name : {fs::path("relative"), fs::path("absolute"), fs::path("linked/file"),
                               fs::path("magic/etc/passwd"), fs::path("../outside/file"), outside / "file"}) {
    INFO(name);
    CHECK(left_the_folder(problem_of(folder, name)));
    CHECK(left_the_folder(problem_of(folder, name, O_WRONLY | O_CREAT | O_TRUNC)));
  }
  CHECK(read_text(outside / "file") == "precious");
  fs::create_symlink(folder, scratch / "link");
  CHECK(problem_of(scratch / "link", "deep/file") == 0);  // the folder itself may be a link
  CHECK(problem_of(folder, "new", O_WRONLY | O_CREAT) == 0);
}

TEST_CASE("where a path leads is known before anything is there") {
  const TemporaryFolder scratch;
  const fs::path base = fs::canonical(scratch.path()), folder = base / "run", outside = base / "outside";
  fs::create_directories(folder / "deep");
  fs::create_symlink("../outside", folder / "dangling");
  fs::create_symlink(outside / "file", folder / "absolute");
  fs::create_symlink("dangling/x", folder / "chain");
  fs::create_symlink("deep/../deep", folder / "inside");
  fs::create_symlink("circle", folder / "circle");
  CHECK(goal_of(folder / "dangling") == outside);
  CHECK(goal_of(folder / "dangling/new/file") == outside / "new/file");
  CHECK(goal_of(folder / "absolute") == outside / "file");
  CHECK(goal_of(folder / "chain") == outside / "x");
  CHECK(goal_of(folder / "inside/./file") == folder / "deep/file");
  CHECK(goal_of(folder / "missing/../deep") == folder / "deep");
  CHECK(goal_of("/../..") == "/");
  CHECK_FALSE(goal_of(folder / "circle"));
}
