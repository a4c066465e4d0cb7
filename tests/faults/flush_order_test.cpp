// A power cut keeps only what was flushed: what a checkpoint consists of is flushed before anything refers to
// it, and nothing older is removed before that.
#include <sys/stat.h>

#include <catch2/catch_all.hpp>
#include <fstream>

#include "tests/faults/failing_calls.hpp"
#include "tests/faults/saved_checkpoints.hpp"
#include "tests/support/rank_states.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

namespace {

unsigned long node_of(const fs::path& path) {
  struct stat facts{};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  return facts.st_ino;
}

// The calls of a piece of work, in their order.
class Trace {
 public:
  explicit Trace(std::vector<SystemCall> calls) : calls_(std::move(calls)) {}

  using Index = std::ptrdiff_t;
  static constexpr Index none = -1;

  template <class Condition>
  Index first(const Condition& condition, Index after = none) const {
    for (Index i = after + 1; i < std::ssize(calls_); ++i)
      if (condition(calls_[static_cast<std::size_t>(i)])) return i;
    return none;
  }
  template <class Condition>
  Index last(const Condition& condition) const {
    Index found = none;
    for (Index i = first(condition); i != none; i = first(condition, i)) found = i;
    return found;
  }

  Index rename_to(const fs::path& path) const {
    return first([&](const SystemCall& call) { return call.name.starts_with("rename") && call.to == path; });
  }
  Index flush_of(const fs::path& path, Index after = none) const {
    return first(
        [node = node_of(path)](const SystemCall& call) { return call.name == "fsync" && call.node == node; },
        after);
  }
  // The last time that an entry was made below the folder, under the name that it had then.
  Index last_entry_in(const std::string& name) const {
    return last([&](const SystemCall& call) {
      const fs::path made = call.name == "rename" ? fs::path(call.to) : fs::path(call.path);
      const bool makes = call.name == "rename" || call.name == "mkdir" || call.name == "linkat";
      return makes && made.parent_path().filename().string().starts_with(name);
    });
  }

 private:
  std::vector<SystemCall> calls_;
};

Trace trace_of(const fs::path& folder, const std::function<void()>& work) {
  const FailingCall recording(folder.string(), 0, 0);
  work();
  return Trace(recording.calls());
}

}  // namespace

TEST_CASE("checkpoint: everything is flushed before it is renamed, and old ones are removed last") {
  const bool unnamed_files = GENERATE(true, false);
  CAPTURE(unnamed_files);
  std::optional<NoUnnamedFiles> none;
  if (!unnamed_files) none.emplace();
  const TemporaryFolder scratch;
  const CheckpointStore store(scratch.path());
  for (const std::int64_t step : {1, 2}) save(store, step);
  const Trace trace = trace_of(scratch.path(), [&] { save(store, 3, /*keep=*/1); });

  const fs::path made = store.path_of(3);
  const auto complete = trace.rename_to(made);
  REQUIRE(complete != Trace::none);
  for (const auto& entry : fs::recursive_directory_iterator(made)) {
    CAPTURE(entry.path());
    const auto flushed = trace.flush_of(entry.path());
    CHECK(flushed != Trace::none);
    CHECK(flushed < complete);
  }
  const auto filled = trace.last_entry_in(".unfinished-step-00000003");
  REQUIRE(filled != Trace::none);
  const auto flushed = trace.flush_of(made, filled);
  CHECK(flushed != Trace::none);
  CHECK(flushed < complete);

  const auto durable = trace.flush_of(store.folder(), complete);
  const auto moved = trace.rename_to(store.folder() / "latest");
  REQUIRE(durable != Trace::none);
  CHECK(durable < moved);
  const auto kept_link = trace.flush_of(store.folder(), moved);
  const auto removed = trace.first([&](const SystemCall& call) {
    return call.path.find("step-00000001") != call.path.npos ||
           call.path.find("step-00000002") != call.path.npos;
  });
  REQUIRE(kept_link != Trace::none);
  REQUIRE(removed != Trace::none);
  CHECK(kept_link < removed);
}

TEST_CASE("checkpoint: a file that a hook did not flush is flushed before it belongs to a checkpoint") {
  const TemporaryFolder scratch;
  const CheckpointStore store(scratch.path());
  const ModelStatesHook hook = [](ModelStates&, const fs::path& folder) {
    std::ofstream(folder / "notes.txt") << "of a hook\n";
  };
  const Trace trace = trace_of(scratch.path(), [&] {
    Checkpoint checkpoint = at_step(1);
    const auto folder = store.begin(1, 100);
    call_save_hooks({hook}, checkpoint, store.path_of(1));
    store.write(*folder, checkpoint, {}, 1);
  });
  const auto flushed = trace.flush_of(store.path_of(1) / "notes.txt");
  REQUIRE(flushed != Trace::none);
  CHECK(flushed < trace.rename_to(store.path_of(1)));
}

TEST_CASE("checkpoint: the first one of a run also flushes the name of the folder it is in") {
  const TemporaryFolder scratch;
  const CheckpointStore store(scratch.path());
  const Trace trace = trace_of(scratch.path(), [&] { save(store, 1); });
  const auto made = trace.first(
      [&](const SystemCall& call) { return call.name == "mkdir" && call.path == store.folder(); });
  REQUIRE(made != Trace::none);
  const auto flushed = trace.flush_of(scratch.path(), made);
  CHECK(flushed != Trace::none);
  CHECK(flushed < trace.rename_to(store.path_of(1)));
}

TEST_CASE("checkpoint: hooks write their files after it is known that there is room") {
  const TemporaryFolder scratch;
  FixedState model({.tensors = {{"weight", torch::ones({4})}}});
  const Checkpointer::States states{{"model", &model}};
  TimeLedger times;
  World alone;
  const ModelStatesHook hook = [](ModelStates&, const fs::path& folder) {
    fs::create_directory(folder / "extra");
  };
  Checkpointer checkpointer({.async = false}, scratch.path(), states, times, {}, {}, {alone}, {hook});
  const Trace trace = trace_of(scratch.path(), [&] { checkpointer.at_end({}, true); });
  const auto asked = trace.first([](const SystemCall& call) { return call.name == "statvfs"; });
  const auto written = trace.first([](const SystemCall& call) { return call.path.ends_with("/extra"); });
  REQUIRE(asked != Trace::none);
  REQUIRE(written != Trace::none);
  CHECK(asked < written);
}
