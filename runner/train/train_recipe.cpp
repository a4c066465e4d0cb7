#include "runner/train/train_recipe.hpp"

#include <torch/utils.h>

#include <csignal>

#include "registry/log.hpp"
#include "registry/log_files.hpp"
#include "runner/checkpoint/checkpointer.hpp"
#include "runner/data_files.hpp"
#include "runner/engine/process.hpp"
#include "runner/failure.hpp"
#include "runner/inspect/slow_precision.hpp"
#include "runner/plugins/keep_plugins.hpp"
#include "runner/recipe/write.hpp"
#include "runner/resolve.hpp"
#include "runner/run_folder/data_spec_file.hpp"
#include "runner/run_folder/run_folder.hpp"
#include "runner/tracking/build_trackers.hpp"
#include "runner/tracking/run_facts.hpp"
#include "runner/train/equal_ranks.hpp"
#include "runner/train/evaluate.hpp"
#include "runner/train/finish_run.hpp"
#include "runner/train/rehearse_training.hpp"
#include "runner/train/run_start.hpp"
#include "runner/train/run_summary.hpp"
#include "runner/train/sample_images.hpp"
#include "runner/train/signals.hpp"
#include "runner/train/train.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t dry_run_steps = 2, dry_run_eval_batches = 4;

// The rules for a process that trains this recipe. The number of threads affects rounding: for results that
// are the same on any number of ranks, each rank has one thread.
void set_up_process(const Recipe& recipe, const World& world) {
  keep_freed_memory();
  const int threads = recipe.distributed.reproducible ? std::max(recipe.run.threads, 1) : recipe.run.threads;
  apply(ProcessSettings{threads, world.local_size(), recipe.run.deterministic});
  log::write_to_files(log::format("threads of each rank: {}", torch::get_num_threads()));
  if (world.alone()) warn_and_steer_around_broken_instructions();  // several ranks did it before they met
  if (const std::string slow = slow_precision(recipe); !slow.empty() && world.is_main()) log::warning(slow);
}

std::optional<EarlierPlan> earlier_plan(const RunStart& start) {
  if (!start.checkpoint) return std::nullopt;
  const auto& [folder, checkpoint] = *start.checkpoint;
  try {
    const auto progress = checkpoint.states.find("progress");
    return ProgressState::plan_of(progress == checkpoint.states.end() ? State{} : progress->second);
  } catch (const StateError& error) {
    throw std::runtime_error("The checkpoint " + folder.string() + " is damaged: progress: " + error.what() +
                             ".");
  }
}

// What the bits of the results depend on, besides the recipe and the ranks.
std::map<std::string, std::string> versions_and_threads() {
  auto all = versions();
  all["threads"] = std::to_string(torch::get_num_threads());
  return all;
}

// Only rank 0 writes the run folder; the others have a temporary one.
RunFolder folder_of(RunStart& start, const Recipe& recipe, const World& world, const TrainOptions& options) {
  if (start.folder) return *std::move(start.folder);
  if (options.dry_run || !world.is_main()) return RunFolder::make_temporary();
  return RunFolder::create(recipe.run);
}

Console make_console(bool shown) {
  if (!shown) return {ConsoleOutput::silent(), ConsoleOutput::silent()};
  return {ConsoleOutput::standard_error(), ConsoleOutput::standard_output()};
}

// Trackers of rank 0 write to the run folder. One that runs on every rank has a folder of its own in it.
fs::path tracking_folder(const RunFolder& folder, World& world) {
  const fs::path shared =
      world.broadcast_text(fs::absolute(folder.path()).string(), 0, "the folder of the run");
  return world.is_main() ? folder.path() : shared / "ranks" / ("rank-" + std::to_string(world.rank()));
}

Trackers make_trackers(const Recipe& recipe, const Value& resolved, const Registry& registry,
                       const RunFolder& folder, World& world, const TrainOptions& options) {
  const fs::path path = tracking_folder(folder, world);
  auto trackers = build_trackers(recipe.tracker, registry, {path, {}, world.rank()});
  if (options.dry_run) std::erase_if(trackers, [](const NamedTracker& each) { return !each.essential; });
  return {std::move(trackers), run_facts(recipe.run, path, resolved)};
}

// Loads the checkpoint that the run starts from, if any. Returns the recipe saved in it. An error is logged:
// a restart of the run would fail in the same way.
std::string resume(Run& run, RunStart& start, const RunFolder& folder, const TrainOptions& options) {
  if (!start.checkpoint) return "";
  FoundCheckpoint found = *std::exchange(start.checkpoint, std::nullopt);
  const double lost = lost_seconds(folder, found.checkpoint);
  const std::string recipe = found.checkpoint.texts["recipe.toml"];
  // A new run, and the trackers of other ranks, have another identity on tracking servers.
  if (options.resume_from || !run.engine.world().is_main()) found.checkpoint.states["trackers"] = {};
  try {
    restore_run(run, std::move(found));
  } catch (const std::exception& error) {
    log::write_to_files("error: " + failure_text(error));
    if (options.resume_from && is_about_checkpoint(error)) throw UnusableCheckpoint(error.what());
    throw;
  }
  run.engine.times().restarted(lost);
  return recipe;
}

// The recipe as it is saved: without run.dir, so that running it again creates a new folder.
std::string recipe_to_keep(const Value& resolved, const Registry& registry, const RunFolder& folder,
                           const World& world) {
  Value kept = world.is_main() ? keep_plugins(resolved, registry, folder) : resolved;
  kept.as<Table>()->find("run")->as<Table>()->erase("dir");
  return write_toml(kept);
}

// Rank 0 decides for all: only its recipe names the run's own copies of plugins.
bool has_same_recipe(const std::string& saved, const std::string& recipe, World& world) {
  return !world.broadcast_text(saved == recipe ? "yes" : "", 0, "whether the recipe is the same").empty();
}

void describe_run(const RunFolder& folder, const Run& run, const std::string& recipe) {
  folder.write("recipe.toml", recipe);
  folder.write("data_spec.json", write_data_spec(run.data.train->spec()));
  if (!run.data.learned.empty()) folder.write("dataset.json", run.data.learned);
  if (!run.data.stand_in.empty()) folder.write("STAND-IN-DATA.txt", run.data.stand_in + "\n");
  fs::remove(folder.file("result.json"));  // of an earlier attempt
}

Checkpointer make_checkpointer(Run& run, const RunFolder& folder, const std::string& recipe,
                               const std::string& data_files) {
  return {run.recipe.checkpoint,
          folder.path(),
          run.stateful,
          run.engine.times(),
          {{"recipe.toml", recipe}, {"data.json", data_files}},
          versions_and_threads(),
          {run.engine.world(), run.engine.sharded_states(run.stateful), timeout_of(run.recipe.distributed)},
          model_states_hooks(run, &Hook::before_save)};
}

// A dry run takes a few steps and saves nothing.
LoopControl loop_control(const Run& run, const RunFolder& folder, const StopSignal& stop,
                         const CheckpointSignal& checkpoint, Checkpointer& checkpoints,
                         const TrainOptions& options) {
  const auto stop_signal = [&] {
    folder.require_there();
    const bool enough = options.interrupt_at && run.progress.step >= *options.interrupt_at;
    return stop.received() != 0 ? stop.received() : enough ? SIGINT : 0;
  };
  LoopControl control{stop_signal, folder.path(), [&] { return checkpoint.take(); }};
  if (options.dry_run) {
    control.steps = dry_run_steps;
    control.eval_batches = dry_run_eval_batches;
  } else {
    control.checkpoints = &checkpoints;
  }
  return control;
}

// The last checkpoint of a finished run may not fit on the disk; its weights, which are smaller, may.
TrainingEnd train_or_keep_weights(Run& run, Journal& journal, const LoopControl& control,
                                  const RunFolder& folder) {
  try {
    return train(run, journal, control);
  } catch (...) {
    if (run.ended) {
      try {
        save_all_weights(run, folder);
      } catch (const std::exception& error) {
        log::error("The weights could not be saved: {}", error.what());
      }
    }
    throw;
  }
}

}  // namespace

RunResult train_recipe(const Value& resolved, const Registry& registry, World& world,
                       const TrainOptions& options) {
  // First of all: without it, a request for a checkpoint would end the process.
  const CheckpointSignal checkpoint_signal;
  const Recipe recipe = decode_table<Recipe>(resolved, registry);
  set_up_process(recipe, world);
  require_equal_recipes(world, resolved, registry);
  RunStart start = find_start(recipe, resolved, registry, world, options);
  Run run(recipe, world, earlier_plan(start));
  const std::string held_data = world.is_main() ? to_json(data_files(resolved, registry)) : "";
  rehearse_single_example(run);
  rehearse_evaluation(run);
  run.divergence.begin(run.engine);

  const RunFolder folder = folder_of(start, recipe, world, options);
  log::add_file(folder.file("log.txt"));
  Console console = make_console(world.is_main() && !options.quiet);
  console.summary(summary_of(run, options.recipe_file, options.dry_run ? "" : folder.path()));
  Trackers trackers = make_trackers(recipe, resolved, registry, folder, world, options);
  Journal journal(trackers, console, run.plan, recipe.train.epochs, recipe.optimizer.common.group);
  run.stateful.emplace_back("journal", &journal);
  run.stateful.emplace_back("trackers", &trackers);

  // Before any file of the run is changed: a checkpoint that does not fit leaves the folder as it is.
  const std::string saved_recipe = resume(run, start, folder, options);
  const ReportedRun reported{run, journal, trackers, console, folder};
  try {
    const std::string kept_recipe = recipe_to_keep(resolved, registry, folder, world);
    // A run that has ended continues if the recipe has changed, or if it is the start of a new run.
    if (options.resume_from || !has_same_recipe(saved_recipe, kept_recipe, world)) run.ended.reset();
    describe_run(folder, run, kept_recipe);
    if (world.is_main()) world.tell_folder(options.dry_run ? "" : fs::absolute(folder.path()).string());
    if (start.resumed_at || options.resume_from) restore_best_files(run, folder.path());
    trackers.start(start.resumed_at);
    if (run.progress.step == 0) log_sample_images(run, trackers);

    const StopSignal stop_signal;
    Checkpointer checkpoints = make_checkpointer(run, folder, kept_recipe, held_data);
    if (run.progress.step > 0) {
      checkpoints.resumed(run.progress);
      checkpoints.measured(journal.last_evaluation());
    }
    const LoopControl control =
        loop_control(run, folder, stop_signal, checkpoint_signal, checkpoints, options);
    return finish_run(reported, train_or_keep_weights(run, journal, control, folder));
  } catch (const std::exception& error) {
    fail_run(reported, error);
    throw;
  } catch (...) {
    const std::runtime_error error(unknown_failure_text());
    fail_run(reported, error);
    throw error;
  }
}

}  // namespace runner
