#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "components/support/io/read_json.hpp"
#include "runner/checkpoint/replay.hpp"
#include "runner/checkpoint/surroundings.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/inference/load_run.hpp"
#include "runner/resolve.hpp"
#include "runner/run_folder/run_folder.hpp"
#include "runner/run_folder/run_result.hpp"
#include "runner/terminal/text.hpp"
#include "runner/train/train_recipe.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// The records of a run after one step and up to another, without what is about time and speed.
std::vector<Json> records_of(const fs::path& run, std::int64_t after, std::int64_t until) {
  std::vector<Json> records;
  std::ifstream file(run / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    const Json record = read_json_or_null(line);
    if (!record.is_object() || !record.contains("step")) continue;
    const auto step = record.value("step", std::int64_t{0});
    if (step <= after || step > until || !record.contains("train/loss")) continue;
    records.push_back({{"step", step}, {"train/loss", record["train/loss"]}});
  }
  return records;
}

// The first thing that came out differently; empty: nothing did.
std::string difference_of(const std::vector<Json>& recorded, const std::vector<Json>& again,
                          const ReplayRange& range, const fs::path& replay) {
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (i < again.size() && recorded[i] == again[i]) continue;
    return "the training loss at step " + recorded[i]["step"].dump() + ": recorded " +
           recorded[i]["train/loss"].dump() + ", recomputed " +
           (i < again.size() ? again[i]["train/loss"].dump() : "nothing");
  }
  if (!range.to) return "";
  const std::string tensor = first_difference(read_checkpoint(*range.to),
                                              read_checkpoint(CheckpointStore(replay).path_of(range.end)));
  return tensor.empty() ? "" : "the tensor \"" + tensor + "\" at step " + std::to_string(range.end);
}

int verify(const fs::path& folder, const ReplayRange& range, Session& session) {
  const RunFolder scratch = RunFolder::make_temporary();
  const fs::path replay = scratch.path() / "run";
  Diagnostics found;
  std::vector<std::string> overrides{"run.dir=" + replay.string(), "tracker=[]",
                                     "checkpoint.every=1000000000step", "checkpoint.at_end=true"};
  CheckpointSummary written = read_summary(range.from);
  // Another number of threads adds up in another order.
  if (const auto threads = written.versions.extract("threads"))
    overrides.push_back("run.threads=" + threads.mapped());
  const auto resolved =
      resolve_recipe({folder / "recipe.toml", session.environment, overrides}, session.registry, found);
  session.err << render(found, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  World world;
  train_recipe(*resolved, session.registry, world,
               {.recipe_file = (folder / "recipe.toml").string(),
                .quiet = true,
                .resume_from = range.from,
                .interrupt_at = range.end});

  const auto recorded = records_of(folder, range.begin, range.end);
  const std::string difference =
      difference_of(recorded, records_of(replay, range.begin, range.end), range, replay);
  if (!difference.empty()) {
    session.out << range.text() << " do not match the recorded run. First difference: " << difference
                << "\nThis machine or this build computes different results than the original run.\n";
    for (const std::string& change : changed_surroundings(written, versions(), 1))
      session.out << "Not as when the checkpoint was written: " << change << "\n";
    return Exit::failed;
  }
  session.out << range.text() << " match the recorded run: " << counted(recorded.size(), "record")
              << (range.to ? " and all tensors of the checkpoint at step " + std::to_string(range.end) : "")
              << "\n";
  return Exit::done;
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
  for (const Json& record : records_of(folder, -1, std::numeric_limits<std::int64_t>::max()))
    request.last_step = std::max(request.last_step, record.value("step", std::int64_t{0}));
  return verify(folder, choose_replay(folder, request), session);
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
          "Finds machines that compute wrongly. Exit code 0: every loss and every tensor is the same; 1: "
          "the first step\nor tensor that differs is printed. The run itself is not changed. Runs of "
          "several ranks cannot be verified."};
}

}  // namespace runner::cli
