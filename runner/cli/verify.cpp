#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "runner/checkpoint/checkpoint_store.hpp"
#include "runner/checkpoint/state_json.hpp"
#include "runner/cli/commands.hpp"
#include "runner/inference/load_run.hpp"
#include "runner/resolve.hpp"
#include "runner/run_folder/run_folder.hpp"
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
    Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!record.is_object() || !record.contains("step")) continue;
    const auto step = record.value("step", std::int64_t{0});
    if (step <= after || step > until || !record.contains("train/loss")) continue;
    records.push_back({{"step", step}, {"train/loss", record["train/loss"]}});
  }
  return records;
}

// The first tensor that two checkpoints do not have in common, to the last bit; empty: they are equal.
std::string first_difference(const Checkpoint& recorded, const Checkpoint& replayed) {
  for (const char* part : {"model", "optimizer"}) {
    const auto ours = tensors_of(replayed.states.at(part));
    for (const auto& [name, tensor] : tensors_of(recorded.states.at(part))) {
      const auto other = std::ranges::find(ours, name, &NamedTensor::name);
      if (other == ours.end() || !torch::equal(tensor, other->tensor)) return std::string(part) + " " + name;
    }
  }
  return "";
}

struct Stretch {
  fs::path from;
  std::int64_t begin = 0, end = 0;
  std::optional<fs::path> to;  // the checkpoint at its end, where there is one
};

// From the oldest checkpoint that another one follows to that one; else from the newest, for so many steps.
Stretch stretch_of(const CheckpointStore& store, std::int64_t steps, std::int64_t last_step) {
  std::vector<CheckpointSummary> all;
  for (const fs::path& folder : store.all()) {
    if (damage_of(folder).empty()) all.push_back(read_summary(folder));
  }
  if (all.empty()) throw std::runtime_error("the run has no complete checkpoint to replay from");
  for (std::size_t i = all.size(); i-- > 1;) {
    if (all[i - 1].step > all[i].step)
      return {all[i].folder, all[i].step, all[i - 1].step, all[i - 1].folder};
  }
  if (all.front().step >= last_step)
    throw std::runtime_error("the run has one checkpoint, at its very end: nothing after it can be compared");
  return {all.front().folder, all.front().step, std::min(last_step, all.front().step + steps), {}};
}

int run(const Arguments& arguments, Session& session) {
  const fs::path folder = fs::canonical(find_run(arguments.get("RUN")));
  const std::int64_t steps = arguments.has("steps") ? std::stoll(arguments.get("steps")) : 20;
  std::int64_t last_step = 0;
  for (const Json& record : records_of(folder, -1, std::numeric_limits<std::int64_t>::max()))
    last_step = std::max(last_step, record.value("step", std::int64_t{0}));
  const Stretch stretch = stretch_of(CheckpointStore(folder), steps, last_step);

  const RunFolder scratch = RunFolder::make_temporary();
  const fs::path replay = scratch.path() / "run";
  Diagnostics found;
  const auto resolved = resolve_recipe({folder / "recipe.toml",
                                        session.environment,
                                        {"run.dir=" + replay.string(), "tracker=[]",
                                         "checkpoint.every=1000000000step", "checkpoint.at_end=true"}},
                                       session.registry, found);
  session.err << render(found, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  World world;
  train_recipe(*resolved, session.registry, world,
               {.recipe_file = (folder / "recipe.toml").string(),
                .quiet = true,
                .resume_from = stretch.from,
                .interrupt_at = stretch.end});

  const auto recorded = records_of(folder, stretch.begin, stretch.end),
             again = records_of(replay, stretch.begin, stretch.end);
  std::string difference;
  for (std::size_t i = 0; i < recorded.size() && difference.empty(); ++i) {
    if (i >= again.size() || recorded[i] != again[i])
      difference = "the training loss at step " + recorded[i]["step"].dump() + ": " +
                   recorded[i]["train/loss"].dump() + " was recorded, " +
                   (i < again.size() ? again[i]["train/loss"].dump() : "nothing") + " came out now";
  }
  if (difference.empty() && stretch.to) {
    const std::string tensor = first_difference(
        read_checkpoint(*stretch.to), read_checkpoint(CheckpointStore(replay).path_of(stretch.end)));
    if (!tensor.empty()) difference = "the tensor \"" + tensor + "\" at step " + std::to_string(stretch.end);
  }
  const std::string what =
      "steps " + std::to_string(stretch.begin + 1) + " to " + std::to_string(stretch.end);
  if (!difference.empty()) {
    session.out << what << " came out differently. First: " << difference
                << "\nThis machine, or the program, computes otherwise than when the run was made.\n";
    return Exit::failed;
  }
  session.out << what << " came out the same: " << counted(recorded.size(), "record")
              << (stretch.to ? " and all weights and optimizer state" : "") << "\n";
  return Exit::done;
}

}  // namespace

Command verify_command() {
  return {.name = "verify",
          .summary = "Replay a part of a run and compare it with what the run recorded.",
          .arguments = {{"RUN", "A run folder, or the name of a run (the last one of it).",
                         Argument::Count::one, Word::file}},
          .options = {{.name = "steps",
                       .doc = "How many steps, where no later checkpoint gives the end (20).",
                       .value = "N"}},
          .examples = {{"runner verify shapes", "from one checkpoint to the next, bit by bit"}},
          .run = &run,
          .details =
              "Finds out whether a machine computes wrongly: exit code 0 where every loss and every tensor "
              "is the same,\n"
              "1 with the first step and tensor that differ. The run itself is not touched."};
}

}  // namespace runner::cli
