#include "runner/train/train_recipe.hpp"

#include <torch/utils.h>

#include <chrono>
#include <csignal>

#include "components/models/weights/weights_and_data.hpp"
#include "registry/base/log.hpp"
#include "registry/recipe_error.hpp"
#include "runner/checkpoint/checkpointer.hpp"
#include "runner/checkpoint/environment_changes.hpp"
#include "runner/engine/runtime/process.hpp"
#include "runner/inspect/slow_precision.hpp"
#include "runner/process/failure.hpp"
#include "runner/process/signals.hpp"
#include "runner/recipe/plan.hpp"
#include "runner/resolve/data_files.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/runs/data_spec_file.hpp"
#include "runner/runs/keep_plugins.hpp"
#include "runner/runs/run_folder.hpp"
#include "runner/runs/tracking/build_trackers.hpp"
#include "runner/runs/tracking/rank_folders.hpp"
#include "runner/runs/tracking/run_facts.hpp"
#include "runner/toml/write.hpp"
#include "runner/train/equal_ranks.hpp"
#include "runner/train/evaluate.hpp"
#include "runner/train/finish_run.hpp"
#include "runner/train/kept_weights.hpp"
#include "runner/train/rehearsal.hpp"
#include "runner/train/replay_recipe.hpp"
#include "runner/train/run_start.hpp"
#include "runner/train/run_summary.hpp"
#include "runner/train/sample_images.hpp"
#include "runner/train/train.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t dry_run_steps = 2, dry_run_eval_batches = 4;

// The arguments of train_recipe() and replay_recipe().
struct TrainArguments {
  Recipe recipe;
  const Value& resolved;
  const Registry& registry;
  World& world;
  const TrainOptions& options;
  ReplayEnd replay_end = {};  // if options.recorded_time is set
};

struct SavedTexts {
  std::string recipe, data_files;  // written to the run folder and to every checkpoint
};

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

// A mistake in the recipe or a checkpoint that does not fit: the run that is in the folder has not failed.
bool is_refusal(const RunStart& start, const std::exception& error) {
  return start.resumed_at && (dynamic_cast<const RecipeError*>(&error) != nullptr ||
                              dynamic_cast<const UnusableCheckpoint*>(&error) != nullptr);
}

// Only rank 0 writes the run folder; the others have a temporary one.
RunFolder new_folder(const Recipe& recipe, const World& world, const TrainOptions& options) {
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
  return world.is_main() ? folder.path() : rank_folder(shared, world.rank());
}

Trackers make_trackers(const TrainArguments& given, const RunFolder& folder) {
  const fs::path path = tracking_folder(folder, given.world);
  auto trackers = build_trackers(given.recipe.tracker, given.registry, {path, {}, given.world.rank()});
  if (given.options.dry_run)
    std::erase_if(trackers, [](const NamedTracker& each) { return !each.essential; });
  return {std::move(trackers), run_facts(given.recipe.run, path, given.resolved)};
}

// Loads the checkpoint that the run starts from, if any.
void resume(Run& run, RunStart& start, const RunFolder& folder, bool force) {
  if (!start.checkpoint) return;
  if (force) run.progress_state.allow_other_data();
  FoundCheckpoint found = *std::exchange(start.checkpoint, std::nullopt);
  const double lost = lost_seconds(folder, found.checkpoint);
  if (!start.of_another_run && run.engine.world().is_main())
    warn_about_missing_records(folder, found.checkpoint);
  // A new run, and trackers of other ranks than 0, have identities of their own on tracking servers.
  if (start.of_another_run || !run.engine.world().is_main()) found.checkpoint.states["trackers"] = {};
  try {
    restore_run(run, std::move(found));
  } catch (const std::exception& error) {
    if (is_about_checkpoint(error)) throw UnusableCheckpoint(error.what());
    throw;
  }
  run.engine.times().restarted(lost);
}

// Writes recipe.toml, which makes the folder a run folder, and copies of the plugins it refers to. run.dir is
// removed from it, so that running it again creates a new folder.
std::string keep_recipe(const TrainArguments& given, const RunFolder& folder) {
  Value kept = given.world.is_main() ? keep_plugins(given.resolved, given.registry, folder) : given.resolved;
  kept.as<Table>()->find("run")->as<Table>()->erase("dir");
  const std::string text = write_toml(kept);
  folder.write("recipe.toml", text);
  return text;
}

void describe_run(const RunFolder& folder, const Run& run, const SavedTexts& texts) {
  folder.write("data.json", texts.data_files);
  folder.write("data_spec.json", write_data_spec(run.data.train->spec()));
  if (!run.data.learned.empty()) folder.write("dataset.json", run.data.learned);
  const ModelCommon& model = run.recipe.model.common;
  const std::string config = model.adapter ? "" : config_of_trained(model, run.data.train->spec());
  if (!config.empty()) folder.write("config.json", config);
  if (!run.data.stand_in.empty()) folder.write("STAND-IN-DATA.txt", run.data.stand_in + "\n");
  // Of an earlier attempt: they would be taken for this one's, if it is killed or does not write them.
  std::vector<std::string> stale{"result.json", "model.safetensors"};
  for (const KeptWeights* weights : kept_weights(run)) stale.push_back(weights->name + ".safetensors");
  if (!run.best) stale.emplace_back("best.safetensors");
  if (run.data.learned.empty()) stale.emplace_back("dataset.json");
  if (config.empty()) stale.emplace_back("config.json");
  if (run.data.stand_in.empty()) stale.emplace_back("STAND-IN-DATA.txt");
  for (const std::string& name : stale) fs::remove(folder.file(name));
}

Checkpointer make_checkpointer(Run& run, const RunFolder& folder, const SavedTexts& texts) {
  return {run.recipe.checkpoint,
          folder.path(),
          run.stateful,
          run.engine.times(),
          {{"recipe.toml", texts.recipe}, {"data.json", texts.data_files}},
          versions_and_threads(),
          {run.engine.world(), run.engine.sharded_states(run.stateful), timeout_of(run.recipe.distributed),
           examples_of_rank(run.recipe)},
          model_states_hooks(run, &Hook::before_save)};
}

// A dry run takes a few steps and saves nothing.
LoopControl loop_control(const RunFolder& folder, const StopSignal& stop, Checkpointer& checkpoints,
                         const TrainArguments& given) {
  const TrainOptions& options = given.options;
  // At most once a second: it is asked for in every step, and network file systems take their time.
  const auto stop_signal = [&folder, &stop, look_again = Clock::time_point()]() mutable {
    if (!folder.temporary() && Clock::now() >= look_again) {
      folder.require_there();
      look_again = Clock::now() + std::chrono::seconds(1);
    }
    return stop.received();
  };
  LoopControl control{stop_signal, folder.path(), &take_checkpoint_request};
  control.interrupt_at = options.interrupt_at;
  control.recorded_time = options.recorded_time;
  control.replay_end = given.replay_end;
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

// The run is complete in memory: from now on its outcome is reported in every case.
RunResult train_and_report(const TrainArguments& given, RunStart& start, const ReportedRun& reported,
                           const SavedTexts& texts) {
  const auto& [run, journal, trackers, console, folder] = reported;
  try {
    if (start.reopens) {
      run.reopen();
      run.engine.train_all();  // a hook that has frozen something may be gone, or end earlier now
    }
    describe_run(folder, run, texts);
    if (given.world.is_main())
      given.world.tell_folder(given.options.dry_run ? "" : fs::absolute(folder.path()).string());
    if (!given.options.recorded_time && (start.resumed_at || start.of_another_run))
      restore_best_files(run, folder.path());
    trackers.start(start.resumed_at, run.progress.exact_epoch);
    if (!start.from_checkpoint()) log_sample_images(run, trackers);

    const StopSignal stop_signal;
    const StopNotice notice;
    Checkpointer checkpoints = make_checkpointer(run, folder, texts);
    if (start.from_checkpoint()) {
      checkpoints.resumed(run.progress);
      checkpoints.measured(journal.last_evaluation());
    }
    const LoopControl control = loop_control(folder, stop_signal, checkpoints, given);
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

// A setting is never ignored silently: a program may have forgotten to call set_up_process().
void warn_if_not_set_up(const Recipe& recipe) {
  const int threads = torch::get_num_threads();
  if (recipe.run.threads > 0 && recipe.run.threads != threads)
    log::warning("run.threads = {} has no effect: this process uses {}. Call set_up_process() first.",
                 recipe.run.threads, threads);
}

// Sets `complete` when the run is complete in memory. `start` then has its folder.
RunResult train_from(const TrainArguments& given, RunStart& start, bool& complete) {
  const auto& [recipe, resolved, registry, world, options, replay_end] = given;
  const double before = seconds_since(options.began);
  Run run(recipe, world, earlier_plan(start));
  run.engine.times().add(TimeLedger::starting, before);
  SavedTexts texts;
  if (world.is_main()) texts.data_files = to_json(data_files(resolved, registry));
  rehearse_single_example(run);
  rehearse_evaluation(run);
  run.divergence.begin(run.engine);

  // The recipe is written first, so that a start that is killed later can be repeated.
  const bool is_new = !start.folder;
  const RunFolder& folder = is_new ? start.folder.emplace(new_folder(recipe, world, options)) : *start.folder;
  if (is_new) {
    note_start(folder, start, options);  // before recipe.toml makes it a run, which would start from nothing
    texts.recipe = keep_recipe(given, folder);
    log::add_file(folder.file("log.txt"));
  }
  Console console = make_console(world.is_main() && !options.quiet);
  console.summary(summary_of(run, options.recipe_file, options.dry_run ? "" : folder.path()));
  Trackers trackers = make_trackers(given, folder);
  Journal journal(trackers, console, run.plan, recipe.train.epochs, recipe.optimizer.common.group);
  run.stateful.emplace_back("journal", &journal);
  run.stateful.emplace_back("trackers", &trackers);

  // The checkpoint is loaded before any file of a resumed run except log.txt is changed: if it does not fit,
  // the folder stays as it is.
  resume(run, start, folder, options.force);
  if (!is_new) {
    note_start(folder, start, options);
    texts.recipe = keep_recipe(given, folder);
  }
  complete = true;
  return train_and_report(given, start, {run, journal, trackers, console, folder}, texts);
}

RunResult train_given(const TrainArguments& given) {
  keep_checkpoint_requests();  // main() has done it before; other programs may not
  warn_if_not_set_up(given.recipe);
  require_equal_recipes(given.world, given.resolved, given.registry);
  RunStart start = find_start(given.recipe, given.resolved, given.registry, given.world, given.options);
  if (start.folder) log::add_file(start.folder->file("log.txt"));
  bool complete = false;
  try {
    return train_from(given, start, complete);
  } catch (const std::exception& error) {
    if (!complete && start.folder) fail_start(*start.folder, error, is_refusal(start, error));
    throw;
  }
}

}  // namespace

void set_up_process(const Value& resolved, const Registry& registry, const World& world) {
  const Recipe recipe = decode_table<Recipe>(resolved, registry);
  keep_freed_memory();
  // The number of threads affects rounding. Results that are the same on any number of ranks must not depend
  // on how cores are divided among the ranks: each rank has one thread unless the recipe sets another number.
  const int threads = recipe.distributed.reproducible ? std::max(recipe.run.threads, 1) : recipe.run.threads;
  apply(ProcessSettings{threads, world.local_size(), recipe.run.deterministic, recipe.run.cudnn_benchmark});
  log::write_to_files(log::format("threads of each rank: {}", torch::get_num_threads()));
  if (world.alone()) warn_and_steer_around_broken_instructions();  // otherwise run_rank() has done it
  if (const std::string slow = slow_precision(recipe); !slow.empty() && world.is_main()) log::warning(slow);
}

RunResult train_recipe(const Value& resolved, const Registry& registry, World& world,
                       const TrainOptions& options) {
  return train_given({decode_table<Recipe>(resolved, registry), resolved, registry, world, options});
}

RunResult replay_recipe(const Value& resolved, const Registry& registry, World& world,
                        const TrainOptions& options, const ReplayEnd& end) {
  return train_given({decode_table<Recipe>(resolved, registry), resolved, registry, world, options, end});
}

}  // namespace runner
