#include "registry/files/atomic_file.hpp"

#include <catch2/catch_all.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>

#include "registry/files/io_error.hpp"
#include "registry/files/open_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

std::string content(const fs::path& file) { return read_file(file, 1 << 20); }

}  // namespace

TEST_CASE("atomic file: a symbolic link stays, and the file it leads to is replaced") {
  const TemporaryFolder folder;
  write_file(folder / "elsewhere/file.txt", "old");
  fs::create_symlink("elsewhere/file.txt", folder / "near");
  fs::create_symlink(folder / "near", folder / "far");
  write_atomically(folder / "far", "new");
  CHECK(fs::is_symlink(folder / "far"));
  CHECK(fs::is_symlink(folder / "near"));
  CHECK(content(folder / "elsewhere/file.txt") == "new");
}

TEST_CASE("atomic file: a link to a file that does not exist yet creates it") {
  const TemporaryFolder folder;
  fs::create_symlink("file.txt", folder / "link");
  write_atomically(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(content(folder / "file.txt") == "new");
  fs::create_symlink("circle", folder / "circle");
  CHECK_THROWS_WITH(write_atomically(folder / "circle", "new"), ContainsSubstring("circle"));
  CHECK(fs::is_symlink(folder / "circle"));
}

TEST_CASE("atomic file: a pipe is written to, and stays one") {
  const TemporaryFolder folder;
  const fs::path pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR) == 0);
  // Does not wait for a writer, so that a failure of the test is no hang.
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  fs::create_symlink("pipe", folder / "link");
  for (const char* name : {"pipe", "link"}) {
    write_atomically(folder / name, "text");
    char received[16] = {};
    CHECK(::read(reader, received, sizeof received) == 4);
    CHECK(std::string(received) == "text");
    CHECK(fs::is_fifo(pipe));
  }
  ::close(reader);
}

TEST_CASE("atomic file: a device is written to, and stays one") {
  const TemporaryFolder folder;
  const fs::path null = folder / "null", full = folder / "full";
  if (::mknod(null.c_str(), S_IFCHR | S_IRUSR | S_IWUSR, makedev(1, 3)) != 0 ||
      ::mknod(full.c_str(), S_IFCHR | S_IRUSR | S_IWUSR, makedev(1, 7)) != 0 ||
      ::access(null.c_str(), W_OK) != 0 || !std::ofstream(null))
    SKIP("only root may make devices");
  write_atomically(null, "text");
  CHECK(fs::is_character_file(null));
  CHECK_THROWS_AS(write_atomically(full, "text"), IoError);
  CHECK(fs::is_character_file(full));
}

TEST_CASE("atomic file: a folder is not replaced") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "taken");
  CHECK_THROWS_WITH(write_atomically(folder / "taken", "new"), ContainsSubstring("taken"));
  CHECK(fs::is_directory(folder / "taken"));
}
