// File systems without locks: some network disks, and some in containers.
#include <dlfcn.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_all.hpp>
#include <cerrno>

#include "registry/base/log.hpp"
#include "registry/files/file_lock.hpp"
#include "runner/runs/run_folder.hpp"
#include "runner/sweep/trial_process.hpp"
#include "tests/support/quiet.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::atomic<int> flock_error = 0;  // every call fails with it

// While it lives, nothing can be locked.
struct NoLocks {
  explicit NoLocks(int error) { flock_error = error; }
  ~NoLocks() { flock_error = 0; }
  NoLocks(const NoLocks&) = delete;
  NoLocks& operator=(const NoLocks&) = delete;
};

}  // namespace

extern "C" int flock(int descriptor, int operation) noexcept {
  static const auto call = reinterpret_cast<int (*)(int, int)>(::dlsym(RTLD_NEXT, "flock"));
  if (flock_error == 0) return call(descriptor, operation);
  errno = flock_error;
  return -1;
}

TEST_CASE("a run folder that cannot be locked is used, with a warning", "[faults]") {
  const int error = GENERATE(ENOLCK, ENOSYS, EOPNOTSUPP);
  const NoLocks none(error);
  const TemporaryFolder scratch;
  RunSection run;
  run.dir = scratch.path() / "run";
  const testing::Quiet quiet;
  {
    const RunFolder folder = RunFolder::create(run);
    REQUIRE(log::warnings().size() == 1);
    CHECK_THAT(log::warnings().front(), ContainsSubstring("without locks"));
    CHECK(RunFolder::owner(*run.dir)->pid == ::getpid());  // by its note: this process is alive
    CHECK_THROWS_WITH(RunFolder::open(*run.dir), ContainsSubstring("in use by process"));
  }
  CHECK_FALSE(RunFolder::owner(*run.dir));
  const RunFolder again = RunFolder::open(*run.dir);
}

TEST_CASE("a trial of a sweep starts where nothing can be locked", "[faults]") {
  const NoLocks none(GENERATE(ENOLCK, ENOSYS, EOPNOTSUPP));
  const TemporaryFolder scratch;
  CHECK(TrialProcess::start({{"--libidentify"}, {}, scratch / "log"}, scratch / "lock"));
}

TEST_CASE("only a lock that another process holds is taken", "[faults]") {
  const TemporaryFolder scratch;
  const auto held = FileLock::try_lock(scratch / "lock");
  REQUIRE(held);
  CHECK(held->held());
  CHECK_FALSE(FileLock::try_lock(scratch / "lock"));
  CHECK(FileLock::state_of(scratch / "lock") == FileLock::State::held);
  const NoLocks none(ENOLCK);
  const auto lock = FileLock::try_lock(scratch / "lock");
  REQUIRE(lock);
  CHECK_FALSE(lock->held());
  CHECK(FileLock::state_of(scratch / "lock") == FileLock::State::unknown);
}
