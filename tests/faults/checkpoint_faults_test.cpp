// Every system call of saving a checkpoint fails once, in every way: nothing that was complete is lost.
#include <unistd.h>

#include <atomic>
#include <catch2/catch_all.hpp>
#include <fstream>
#include <future>
#include <optional>
#include <set>
#include <thread>

#include "registry/base/log.hpp"
#include "runner/checkpoint/checkpointer.hpp"
#include "tests/faults/failing_calls.hpp"
#include "tests/faults/saved_checkpoints.hpp"
#include "tests/support/quiet.hpp"
#include "tests/support/rank_states.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

namespace {

std::vector<std::int64_t> loadable_steps(const CheckpointStore& store) {
  std::vector<std::int64_t> steps;
  for (const fs::path& folder : store.all())
    if (damage_of(folder).empty()) steps.push_back(read_summary(folder).step);
  return steps;
}

struct Way {
  int error;
  FailingCall::Kind kind;
  bool unnamed_files = true;    // whether the file system has them
  int exchange_fails_with = 0;  // where it cannot exchange two names
};

}  // namespace

TEST_CASE("checkpoint: whatever call fails while one is saved, the one before it stays") {
  const Way way =
      GENERATE(Way{ENOSPC, FailingCall::error}, Way{EIO, FailingCall::error}, Way{EROFS, FailingCall::error},
               Way{0, FailingCall::short_write}, Way{ENOSPC, FailingCall::error, false},
               Way{EIO, FailingCall::error, true, EINVAL}, Way{ENOSPC, FailingCall::error, true, ENOSYS});
  const std::int64_t saved = GENERATE(3, 2);  // a new one, and one that takes the place of another
  const NoExchange mode(way.exchange_fails_with);
  std::optional<NoUnnamedFiles> none;
  if (!way.unnamed_files) none.emplace();
  std::set<std::string> met;
  int number = 1;
  for (;; ++number) {
    const TemporaryFolder scratch;
    const CheckpointStore store(scratch.path());
    save(store, 1);
    save(store, 2);
    bool happened = false;
    std::string call, message;
    {
      const FailingCall failing(scratch.path().string(), number, way.error, way.kind);
      try {
        save(store, saved);
      } catch (const std::exception& error) {
        message = error.what();
      }
      happened = failing.happened();
      call = failing.name();
      for (const SystemCall& each : failing.calls()) met.insert(each.name);
    }
    CAPTURE(number, call, message, way.error, saved);
    if (!happened) {
      CHECK(message.empty());
      break;
    }
    // Between two renames the old one may have a name only until the next start.
    if (way.exchange_fails_with != 0) store.clear_leftovers();
    const auto steps = loadable(store);
    REQUIRE_FALSE(steps.empty());
    CHECK(steps.front() >= 2);
    // The file or folder, not only the run.
    const bool of_run_folder = message.find(scratch.path().string() + ":") != message.npos;
    if (!message.empty() && !of_run_folder)
      CHECK_THAT(message, Catch::Matchers::ContainsSubstring(store.folder().string()));
    if (message.empty())
      CHECK(steps.front() == saved);  // nobody was told of a failure, so there must be none
    // What is left does not disturb the next attempt.
    store.clear_leftovers();
    save(store, 4);
    CHECK(loadable(store).front() == 4);
    CHECK(fs::read_symlink(store.folder() / "latest") == store.path_of(4).filename());
  }
  CHECK(number > (way.kind == FailingCall::short_write ? 8 : 60));
  for (const std::string name :
       {"open", "write", "fsync", "close", "rename", "mkdir", "unlinkat", "statvfs"}) {
    CAPTURE(name);
    CHECK(met.contains(name));
  }
  CHECK(met.contains("linkat") == way.unnamed_files);
  CHECK(met.contains("symlink") == (saved == 3));
  CHECK(met.contains("renameat2") == (saved == 2));
}

TEST_CASE("checkpoint: a file system without symbolic links has no `latest`, and that is all") {
  const NoSymbolicLinks mode(GENERATE(EPERM, EOPNOTSUPP, ENOSYS));
  const testing::Quiet quiet;
  const TemporaryFolder scratch;
  const CheckpointStore store(scratch.path());
  const fs::path latest = store.folder() / "latest";
  for (const std::int64_t step : {1, 2, 3}) save(store, step);
  CHECK(loadable(store) == std::vector<std::int64_t>{3, 2});
  store.clear_leftovers();  // as a run that resumes does
  store.point_latest_to(store.path_of(3));
  fs::copy(store.path_of(3), latest, fs::copy_options::recursive);  // of a run that was copied without links
  store.clear_leftovers();
  CHECK_FALSE(fs::exists(latest));
  CHECK(loadable(store) == std::vector<std::int64_t>{3, 2});
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings().front(), Catch::Matchers::ContainsSubstring(latest.string()));
}

namespace {

// Whose second copy notes whether the first checkpoint was complete by then.
class Watching final : public Stateful {
 public:
  explicit Watching(fs::path first) : first_(std::move(first)) {}
  State save() const override {
    if (++copies_ == 2) first_was_complete_ = fs::exists(first_ / "manifest.json");
    return {.tensors = {{"weight", torch::ones({4})}}};
  }
  bool first_was_complete() const { return first_was_complete_; }
  int copies() const { return copies_; }

 private:
  fs::path first_;
  mutable std::atomic<int> copies_ = 0;
  mutable bool first_was_complete_ = false;
};

// Whether a thread of this process waits for something.
bool is_waiting(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.find(") S ") != std::string::npos;
}

Progress after(std::int64_t step) {
  Progress progress;
  progress.step = progress.examples = step;
  return progress;
}

}  // namespace

TEST_CASE("checkpoint: training continues while one is written, and a second one waits for the first") {
  const TemporaryFolder scratch;
  const CheckpointStore store(scratch.path());
  Watching model(store.path_of(1));
  TimeLedger times;
  World alone;
  const Checkpointer::States states{{"model", &model}};
  Checkpointer checkpointer({}, scratch.path(), states, times, {}, {}, {alone});
  HeldFlush held(scratch.path().string());
  checkpointer.after_step(after(1), true);  // returns, although nothing can become durable
  held.wait_until_reached();
  checkpointer.after_step(after(2), false);
  CHECK_FALSE(checkpointer.covers(1));
  CHECK_FALSE(fs::exists(store.path_of(1)));
  std::promise<pid_t> thread;
  auto second = std::async(std::launch::async, [&] {
    thread.set_value(::gettid());
    checkpointer.after_step(after(3), true);
  });
  const pid_t saving = thread.get_future().get();
  while (!is_waiting(saving) && model.copies() < 2) std::this_thread::yield();
  held.release();
  second.get();
  CHECK(model.first_was_complete());
  CHECK(checkpointer.covers(1));
  checkpointer.at_end(after(3), true);
  CHECK(loadable_steps(store) == std::vector<std::int64_t>{3, 1});
}

TEST_CASE("checkpoint: whatever call fails while ranks save together, all fail and the one before stays") {
  const auto save_step = [](const fs::path& folder, std::int64_t step) {
    return save_together(2, folder, step, [&](int rank) { return part_of_rank(rank, step); });
  };
  int number = 1;
  bool part_of_another_rank = false;
  for (;; ++number) {
    const TemporaryFolder scratch;
    const CheckpointStore store(scratch.path());
    save_step(scratch.path(), 1);
    REQUIRE(loadable(store) == std::vector<std::int64_t>{1});
    std::vector<std::exception_ptr> errors;
    bool happened = false;
    std::string call;
    {
      const FailingCall failing(scratch.path().string(), number, ENOSPC, FailingCall::error);
      errors = save_step(scratch.path(), 2);
      happened = failing.happened();
      call = failing.name();
    }
    const std::string first = message_of(errors[0]), second = message_of(errors[1]);
    CAPTURE(number, call, first, second);
    if (!happened) break;
    const auto steps = loadable(store);
    REQUIRE_FALSE(steps.empty());
    CHECK(first.empty() == second.empty());  // all ranks are told, or none
    if (first.empty()) {
      CHECK(steps.front() == 2);
    } else {
      CHECK_THAT(first, Catch::Matchers::ContainsSubstring(scratch.path().string()));
      CHECK_THAT(second, Catch::Matchers::ContainsSubstring(scratch.path().string()));
    }
    part_of_another_rank = part_of_another_rank || first.find("00002-of-00002") != std::string::npos;
    store.clear_leftovers();
    save_step(scratch.path(), 3);
    CHECK(loadable(store).front() == 3);
  }
  CHECK(number > 30);
  CHECK(part_of_another_rank);
}
