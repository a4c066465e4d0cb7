#include "components/trackers/syncer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_all.hpp>

#include <fstream>

#include "registry/base/log.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

// It may outlive the run, and would hold locks that the run has inherited.
TEST_CASE("a vendor's program inherits no open files") {
  const testing::TemporaryFolder folder;
  const int inheritable = ::open("/dev/null", O_RDONLY);
  REQUIRE(inheritable > STDERR_FILENO);
  Syncer syncer("vendor", "install it");
  const std::string number = std::to_string(inheritable);
  syncer.start({"sh", "-c", "[ -e /proc/self/fd/" + number + " ] && echo open || echo closed"}, folder.path(),
               folder / "log");
  syncer.wait(60);
  ::close(inheritable);
  CHECK(testing::read_text(folder / "log") == "closed\n");
}

TEST_CASE("waiting for a vendor's program says whether it has ended") {
  const log::Silence quiet;
  const testing::TemporaryFolder folder;
  Syncer syncer("vendor", "install it");
  CHECK(syncer.wait(0));  // nothing was started

  const auto pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  syncer.start({"cat", pipe.string()}, folder.path(), folder / "log");
  CHECK_FALSE(syncer.wait(0));
  CHECK_FALSE(syncer.running());  // it is left alone
  std::ofstream(pipe) << "the end";

  syncer.start({"true"}, folder.path(), folder / "log");
  CHECK(syncer.wait(60));
}

}  // namespace
}  // namespace runner
