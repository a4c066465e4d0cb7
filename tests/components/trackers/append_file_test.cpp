#include "components/trackers/append_file.hpp"

#include <sys/resource.h>

#include <catch2/catch_all.hpp>
#include <csignal>

#include "tests/support/files.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/no_descriptors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using testing::read_text;
using testing::write_file;

TEST_CASE("an incomplete last line is cut, and complete ones stay") {
  const testing::TemporaryFolder folder;
  const auto left = [&](const std::string& text) {
    cut_unfinished_line(write_file(folder / "lines", text));
    return read_text(folder / "lines");
  };
  CHECK(left("one\ntwo\nthr") == "one\ntwo\n");
  CHECK(left("one\ntwo\n") == "one\ntwo\n");
  CHECK(left("on").empty());
  CHECK(left("").empty());
  CHECK_NOTHROW(cut_unfinished_line(folder / "missing"));
}

TEST_CASE("of a piece that does not fit on the disk, nothing stays") {
  const testing::TemporaryFolder folder;
  const auto file = write_file(folder / "lines", "one\n");
  const int status = testing::in_child([&] {
    const rlimit limit{8, 8};
    ::signal(SIGXFSZ, SIG_IGN);
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    try {
      AppendFile(file).append("two, three\n");
    } catch (const std::runtime_error&) {
      return true;
    }
    return false;
  });
  CHECK(status == 0);
  CHECK(read_text(file) == "one\n");
}

TEST_CASE("a file that cannot be read is not emptied") {
  const testing::TemporaryFolder folder;
  const auto file = write_file(folder / "lines", "one\ntwo\nthr");
  std::string message;
  {
    const testing::NoDescriptors none;
    try {
      cut_unfinished_line(file);
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
  }
  CHECK(message == "Cannot open " + file.string() + ": Too many open files.");
  CHECK(read_text(file) == "one\ntwo\nthr");
}

}  // namespace
}  // namespace runner
