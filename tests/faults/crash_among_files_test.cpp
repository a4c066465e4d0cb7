// A process is killed at every system call of saving a state into a folder with other files: the old state or
// the new one can be loaded, and the other files are as they were.
#include "runner/checkpoint/checkpoint_among_files.hpp"

#include <catch2/catch_all.hpp>

#include "tests/faults/failing_calls.hpp"
#include "tests/faults/saved_checkpoints.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

namespace {

// The state of the first step has a file of a hook that the second does not have, and the second has more
// files of its model.
void save_state(const fs::path& folder, std::int64_t step) {
  Checkpoint checkpoint = at_step(step);
  const ModelStatesHook hook = [step](ModelStates&, const fs::path& own) {
    write_file(own / "own" / ("of_step_" + std::to_string(step)), "numbers");
  };
  if (step == 2) checkpoint.states["model.head"].tensors["weight"] = torch::full({3}, 2.0);
  call_save_hooks({hook}, checkpoint, staged_among_files(folder));
  write_among_files(folder, checkpoint);
}

}  // namespace

TEST_CASE("checkpoint: wherever a process is killed while it saves among other files, nothing is lost") {
  const bool replaces = GENERATE(true, false);
  std::set<std::int64_t> found;
  int number = 1;
  for (bool crashed = true; crashed; ++number) {
    CAPTURE(replaces, number);
    const TemporaryFolder scratch;
    write_file(scratch / "metrics.jsonl", "{}\n");
    write_file(scratch / "own/notes.txt", "mine");
    if (replaces) save_state(scratch.path(), 1);
    crashed = crashes_at(number, scratch.path().string(), [&] { save_state(scratch.path(), 2); });
    recover_among_files(scratch.path());
    if (holds_checkpoint(scratch.path())) {
      const Checkpoint state = read_checkpoint(scratch.path());
      CHECK(state.states.at("model").tensors.at("weight")[0].item<double>() ==
            static_cast<double>(state.step));
      CHECK(state.states.contains("model.head") == (state.step == 2));
      CHECK(fs::exists(scratch / ("own/of_step_" + std::to_string(state.step))));
      CHECK_FALSE(fs::exists(scratch / ("own/of_step_" + std::to_string(3 - state.step))));
      found.insert(state.step);
    } else {
      CHECK_FALSE(replaces);
      found.insert(0);
    }
    CHECK(read_text(scratch / "metrics.jsonl") == "{}\n");
    CHECK(read_text(scratch / "own/notes.txt") == "mine");
    save_state(scratch.path(), 2);  // clears what is left
    for (const auto& entry : fs::directory_iterator(scratch.path()))
      CHECK_FALSE(entry.path().filename().string().starts_with('.'));
  }
  CHECK(number > 20);
  CHECK(found == (replaces ? std::set<std::int64_t>{1, 2} : std::set<std::int64_t>{0, 2}));
}
