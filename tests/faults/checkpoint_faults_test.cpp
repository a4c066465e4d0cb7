// Every system call of saving a checkpoint fails once, in every way: nothing that was complete is lost.
#include <catch2/catch_all.hpp>

#include "runner/checkpoint/checkpoint_store.hpp"
#include "tests/faults/failing_calls.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

namespace {

Checkpoint at_step(std::int64_t step) {
  Checkpoint checkpoint;
  checkpoint.step = step;
  const auto numbers = torch::full({64}, static_cast<double>(step));
  checkpoint.states["model"].tensors["weight"] = numbers;
  checkpoint.states["optimizer"].tensors["weight.exp_avg"] = numbers;
  checkpoint.states["progress"].integers["step"] = step;
  checkpoint.texts["recipe.toml"] = "a = 1\n";
  return checkpoint;
}

void save(const CheckpointStore& store, std::int64_t step) {
  store.write(at_step(step), {.max_shard_bytes = 1 << 20}, 2, [](const CheckpointSummary&) { return false; });
}

// The steps of what can be loaded.
std::vector<std::int64_t> loadable(const CheckpointStore& store) {
  std::vector<std::int64_t> steps;
  for (const fs::path& folder : store.all()) {
    if (!damage_of(folder).empty()) continue;
    const Checkpoint read = read_checkpoint(folder);
    CHECK(read.states.at("model").tensors.at("weight")[0].item<double>() == static_cast<double>(read.step));
    steps.push_back(read.step);
  }
  return steps;
}

struct Way {
  int error;
  FailingCall::Kind kind;
};

}  // namespace

TEST_CASE("checkpoint: whatever call fails while one is saved, the one before it stays") {
  const Way way = GENERATE(Way{ENOSPC, FailingCall::error}, Way{EIO, FailingCall::error},
                           Way{EROFS, FailingCall::error}, Way{0, FailingCall::short_write});
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
        save(store, 3);
      } catch (const std::exception& error) {
        message = error.what();
      }
      happened = failing.happened();
      call = failing.name();
    }
    CAPTURE(number, call, message, way.error);
    if (!happened) break;
    const auto steps = loadable(store);
    REQUIRE_FALSE(steps.empty());
    CHECK(steps.front() >= 2);
    if (!message.empty()) CHECK_THAT(message, Catch::Matchers::ContainsSubstring(scratch.path().string()));
    if (message.empty()) CHECK(steps.front() == 3);  // nobody was told of a failure, so there must be none
    // What is left does not disturb the next attempt.
    store.clear_leftovers();
    save(store, 4);
    CHECK(loadable(store).front() == 4);
    CHECK(fs::read_symlink(store.folder() / "latest") == store.path_of(4).filename());
  }
  CHECK(number > 30);  // all of them were met
}
