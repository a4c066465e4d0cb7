#include <functional>
#include <limits>
#include <map>
#include <ostream>

#include "registry/base/wording.hpp"
#include "runner/checkpoint/environment_changes.hpp"
#include "runner/checkpoint/recorded_steps.hpp"
#include "runner/checkpoint/replay.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/predict/load_run.hpp"
#include "runner/process/input_error.hpp"
#include "runner/resolve/recipe_changes.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/runs/run_folder.hpp"
#include "runner/runs/run_result.hpp"
#include "runner/terminal/text.hpp"
#include "runner/toml/reference.hpp"
#include "runner/train/progress_state.hpp"
#include "runner/train/replay_recipe.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;

// Replaces the clock in a replay, which may be faster or slower than the run was. Between two records
// time stands still, so that whatever was due at some time (train.max_time, eval.every = "30min") is due in
// the step in which the run recorded it.
std::function<double(std::int64_t)> recorded_clock(std::int64_t begin, double seconds,
                                                   std::map<std::int64_t, double> times) {
  times.emplace(begin, seconds);
  return [times = std::move(times)](std::int64_t step) {
    const auto next = times.upper_bound(step);
    return next == times.begin() ? next->second : std::prev(next)->second;
  };
}

int report_differences(const std::vector<std::string>& differences, const ReplayRange& range,
                       const CheckpointSummary& written, Session& session) {
  session.out << range.text()
              << " do not match the recorded run. First difference: " << joined(differences, "\nand then: ")
              << "\nThis machine or this build computes different results than the original run.\n";
  for (const std::string& change : environment_changes(written, versions(), 1))
    session.out << "Changed since the checkpoint was written: " << change << "\n";
  return Exit::failed;
}

std::optional<Value> recipe_to_replay(const fs::path& folder, const fs::path& replay,
                                      const std::string& threads, Session& session) {
  std::vector<std::string> overrides{"run.dir=" + escape_references(replay.string()), "tracker=[]",
                                     "checkpoint.every=1000000000step", "checkpoint.at_end=true"};
  // With another number of threads, sums are computed in another order.
  if (!threads.empty()) overrides.push_back("run.threads=" + threads);
  Diagnostics found;
  auto resolved =
      resolve_recipe({folder / "recipe.toml", session.environment, overrides}, session.registry, found);
  session.err << render(found, session.err_style.colour);
  return resolved;
}

// What the environment sets, or data that was edited since, gives other results on any machine.
void require_same_origins(const fs::path& checkpoint, const Value& replayed, const Registry& registry) {
  auto changes = changes_since(checkpoint / "recipe.toml", replayed, registry);
  std::erase_if(changes, [](const RecipeChange& change) {
    return change.effect == OnResume::harmless || change.key == "run.threads";  // those of the checkpoint
  });
  if (!changes.empty())
    throw InputError("the recipe or the data is no longer that of the run\n" + changes_table(changes) +
                     "so there is nothing to compare");
}

int verify(const fs::path& folder, const ReplayRange& range, Session& session) {
  // Opened before the replay: a run that is still training deletes its oldest checkpoints.
  const auto end = range.to ? std::optional(open_to_compare(*range.to)) : std::nullopt;
  CheckpointSummary written = read_summary(range.from);
  const RecordedSteps recorded = recorded_steps(folder, written.epoch, range.end);
  if (recorded.values.empty() && !end)
    throw InputError("the run recorded nothing in " + range.text() +
                     ", so there is nothing to compare: replay more of them (--steps)");

  const RunFolder scratch = RunFolder::make_temporary();
  const fs::path replay = scratch.path() / "run";
  const auto threads = written.versions.extract("threads");
  const auto resolved = recipe_to_replay(folder, replay, threads ? threads.mapped() : "", session);
  if (!resolved) return Exit::bad_input;
  require_same_origins(range.from, *resolved, session.registry);
  World world;
  set_up_process(*resolved, session.registry, world);
  ReplayEnd replay_end{range.end};
  if (end) {
    replay_end.epoch = end->checkpoint.epoch;
    const auto progress = end->checkpoint.states.find("progress");
    replay_end.run_ended =
        progress != end->checkpoint.states.end() && ProgressState::has_ended(progress->second);
  }
  const RunResult result =
      replay_recipe(*resolved, session.registry, world,
                    {.recipe_file = (folder / "recipe.toml").string(),
                     .quiet = true,
                     .resume_from = range.from,
                     .recorded_time = recorded_clock(range.begin, written.seconds, recorded.times)},
                    replay_end);
  if (result.outcome == Outcome::interrupted && (replay_end.run_ended || result.steps < range.end)) {
    session.err << "interrupted at step " << result.steps << " of " << range.text()
                << ": nothing was compared\n";
    return result.exit_code();
  }

  const RecordComparison records =
      compare_records(recorded, recorded_steps(replay, written.epoch, range.end));
  std::vector<std::string> differences, missing;
  if (!records.first_difference.empty()) differences.push_back(records.first_difference);
  if (result.steps != range.end) {
    differences.push_back("it ended at step " + std::to_string(result.steps) +
                          (result.message.empty() ? "" : ": " + result.message));
  } else if (end) {
    const ComparedCheckpoint again = open_to_compare(CheckpointStore(replay).path_of(range.end));
    if (const std::string what = first_difference(end->checkpoint, again.checkpoint); !what.empty())
      differences.push_back(what + " at step " + std::to_string(range.end));
    missing = not_compared(*end, again);
  }
  if (!differences.empty()) return report_differences(differences, range, written, session);
  if (records.compared == 0 && !end)
    throw InputError("the replay recorded nothing where the run did in " + range.text() +
                     ", so there is nothing to compare: replay more of them (--steps)");
  session.out << range.text() << " match the recorded run: " << counted(records.compared, "record")
              << (end ? " and all tensors of the checkpoint at step " + std::to_string(range.end) : "")
              << "\n";
  for (const std::string& what : missing) session.out << "Not compared: " << what << "\n";
  return Exit::done;
}

// A run that is still training may delete the chosen checkpoint before it is read; then another one is
// chosen.
int verify_and_retry(const fs::path& folder, const ReplayRequest& request, Session& session) {
  while (true) {
    const ReplayRange range = choose_replay(folder, request);
    try {
      return verify(folder, range, session);
    } catch (const std::exception&) {
      if (fs::exists(range.from)) throw;
    }
  }
}

int run(const Arguments& arguments, Session& session) {
  const fs::path folder = fs::canonical(find_run(arguments.get("RUN")));
  ReplayRequest request;
  try {
    request.from = whole_option(arguments, "from", 0);
    request.steps = whole_option(arguments, "steps", 1);
  } catch (const BadNumber& bad) {
    return refuse({bad.message}, session);
  }
  const auto steps = recorded_steps(folder, -1, std::numeric_limits<std::int64_t>::max()).epochs;
  if (!steps.empty()) request.last_step = steps.rbegin()->first;
  return verify_and_retry(folder, request, session);
}

}  // namespace

Command verify_command() {
  return {
      .name = "verify",
      .summary = "Replay a part of a run and compare it with what the run recorded.",
      .arguments = {{"RUN", "A run folder, or the name of a run (its last one).", Argument::Count::one,
                     Word::file}},
      .options = {{.name = "from",
                   .doc = "Step of the checkpoint to start from; default: the oldest that can be compared.",
                   .value = "STEP"},
                  {.name = "steps",
                   .doc =
                       "Replay at most N steps; default: up to the next checkpoint, or 20 after the newest.",
                   .value = "N"}},
      .examples = {{"runner verify shapes", "from one checkpoint to the next, bit by bit"},
                   {"runner verify shapes --from 200 --steps 5", "only five steps after that checkpoint"}},
      .run = &run,
      .details =
          "Finds machines that compute wrongly. Exit code 0: every recorded value and every tensor is the "
          "same; 1: the\nfirst value and the first tensor that differ are printed; 2: there is nothing to "
          "compare.\nThe run itself is not changed and may still be training. Time-based intervals and "
          "limits "
          "apply in the steps in\nwhich they did in the run. Runs of several ranks cannot be verified."};
}

}  // namespace runner::cli
