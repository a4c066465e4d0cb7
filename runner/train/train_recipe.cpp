#include "runner/train/train_recipe.hpp"

#include <torch/utils.h>

#include <csignal>

#include "registry/log.hpp"
#include "registry/log_files.hpp"
#include "runner/checkpoint/checkpointer.hpp"
#include "runner/engine/process.hpp"
#include "runner/failure.hpp"
#include "runner/inspect/slow_precision.hpp"
#include "runner/plugins/keep_plugins.hpp"
#include "runner/recipe/write.hpp"
#include "runner/report/run_report.hpp"
#include "runner/resolve.hpp"
#include "runner/run_folder/data_spec_file.hpp"
#include "runner/run_folder/run_folder.hpp"
#include "runner/tracking/build_trackers.hpp"
#include "runner/tracking/run_facts.hpp"
#include "runner/train/equal_ranks.hpp"
#include "runner/train/kept_weights.hpp"
#include "runner/train/rehearsal.hpp"
#include "runner/train/run_start.hpp"
#include "runner/train/run_summary.hpp"
#include "runner/train/sample_images.hpp"
#include "runner/train/signals.hpp"
#include "runner/train/train.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t dry_run_steps = 2, dry_run_eval_batches = 4;

using NamedFile = std::pair<std::string, fs::path>;

// All weights of the run; what each file is, and where.
std::vector<NamedFile> save_all_weights(Run& run, const RunFolder& folder) {
  std::vector<NamedFile> files;
  if (run.recipe.train.on_divergence == OnDivergence::stop &&
      !run.divergence.weights_are_finite(run.engine)) {
    log::error("The weights contain NaN or infinity; model.safetensors is not written.");
  } else {
    files.emplace_back("model", folder.file("model.safetensors"));
    save_weights(run, "eval", files.back().second);
  }
  for (const KeptWeights* weights : kept_weights(run)) {
    if (weights->tensors.empty()) {
      log::warning("Hook \"{}\" has no weights to save: the run ended before it began.", weights->name);
      continue;
    }
    files.emplace_back(weights->name + " model", folder.file(weights->name + ".safetensors"));
    save_weights(run, weights->name, files.back().second);
  }
  return files;
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

std::vector<ModelStatesHook> save_hooks(const Run& run) {
  std::vector<ModelStatesHook> calls;
  for (const auto& hook : run.hooks)
    calls.push_back([hook = hook.get()](ModelStates& models, const fs::path& folder) {
      hook->before_save(models, folder);
    });
  return calls;
}

void describe_run(const RunFolder& folder, const Run& run, const Value& kept) {
  folder.write("recipe.toml", write_toml(kept));
  folder.write("data_spec.json", write_data_spec(run.data.train->spec()));
  if (!run.data.learned.empty()) folder.write("dataset.json", run.data.learned);
  if (!run.data.stand_in.empty()) folder.write("STAND-IN-DATA.txt", run.data.stand_in + "\n");
  fs::remove(folder.file("result.json"));  // of an earlier attempt
}

// The recipe as it is kept: it can be run again, and then makes a folder of its own.
Value without_folder(Value resolved) {
  resolved.as<Table>()->find("run")->as<Table>()->erase("dir");
  return resolved;
}

// The rules for a process that trains this recipe. The number of threads changes bits: where these must be
// the same on any number of ranks, each rank has one thread.
void set_up_process(const Recipe& recipe, const World& world) {
  keep_freed_memory();
  const int threads = recipe.distributed.reproducible ? std::max(recipe.run.threads, 1) : recipe.run.threads;
  apply(ProcessSettings{threads, world.local_size(), recipe.run.deterministic});
  log::write_to_files(log::format("threads of each rank: {}", torch::get_num_threads()));
  if (world.alone()) {  // several ranks have threads by now, and have done it before
    if (const std::string steered = steer_around_broken_instructions(); !steered.empty())
      log::warning(steered);
  }
  if (const std::string slow = slow_precision(recipe); !slow.empty() && world.is_main()) log::warning(slow);
}

// Only rank 0 writes the run folder; the others have a temporary one.
RunFolder folder_of(RunStart& start, const Recipe& recipe, const World& world, const TrainOptions& options) {
  if (start.folder) return *std::move(start.folder);
  if (options.dry_run || !world.is_main()) return RunFolder::make_temporary();
  return RunFolder::create(recipe.run);
}

// Trackers of rank 0 write to the run folder. One that runs on every rank has a folder of its own in it.
fs::path tracking_folder(const RunFolder& folder, World& world) {
  const fs::path shared =
      world.broadcast_text(fs::absolute(folder.path()).string(), 0, "the folder of the run");
  return world.is_main() ? folder.path() : shared / "ranks" / ("rank-" + std::to_string(world.rank()));
}

// What a restart of the run would meet again has to be in its log.
void restore_or_log(Run& run, FoundCheckpoint checkpoint) {
  try {
    restore_run(run, std::move(checkpoint));
  } catch (const std::exception& error) {
    log::write_to_files("error: " + failure_text(error));
    throw;
  }
}

// Rank 0 decides for all: only its recipe names the run's own copies of plugins.
bool has_same_recipe(const std::string& saved, const std::string& recipe, World& world) {
  return !world.broadcast_text(saved == recipe ? "yes" : "", 0, "whether the recipe is the same").empty();
}

RunResult::Outcome outcome_of(const TrainingEnd& end) {
  switch (end.why) {
    case TrainingEnd::finished: return RunResult::Outcome::finished;
    case TrainingEnd::stopped: return RunResult::Outcome::stopped;
    case TrainingEnd::diverged: return RunResult::Outcome::failed;
    case TrainingEnd::interrupted: break;
  }
  return RunResult::Outcome::interrupted;
}

Outcome tracked_outcome(const TrainingEnd& end) {
  if (end.why == TrainingEnd::finished) return Outcome::finished;
  return end.why == TrainingEnd::diverged ? Outcome::failed : Outcome::stopped;
}

// result.json and report.html.
RunResult write_result(RunResult result, const RunFolder& folder) {
  if (folder.temporary()) {
    result.files.clear();
  } else {
    if (result.best) result.files.emplace_back("best model", folder.file("best.safetensors"));
    result.files.emplace_back("metrics", folder.file("metrics.jsonl"));
  }
  folder.write("result.json", result_json(result, folder.path()));
  if (!folder.temporary()) leave_report(folder.path());
  return result;
}

void send_artifacts(const Run& run, const RunFolder& folder, Trackers& trackers) {
  if (folder.temporary()) return;
  const char* model = run.best && run.best->best() ? "best.safetensors" : "model.safetensors";
  for (const char* name : {model, "report.html"}) trackers.artifact(name, folder.file(name));
}

void close(const RunResult& result, const Journal& journal, Console& console) {
  console.closing(closing_of(result, journal));
  log::close_files();
}

// Saves the weights and writes down how training ended.
RunResult finish(Run& run, Journal& journal, Trackers& trackers, Console& console, const TrainingEnd& end,
                 const RunFolder& folder) {
  auto files = save_all_weights(run, folder);
  RunResult result = result_of(run, journal);
  result.outcome = outcome_of(end);
  result.message = end.reason;
  result.signal = end.signal;
  result.files = std::move(files);
  trackers.flush();  // the report reads metrics.jsonl
  RunResult written = write_result(result, folder);
  send_artifacts(run, folder, trackers);
  trackers.finish(tracked_outcome(end), end.reason);
  written.warnings = log::warnings();  // what a tracker could not send is among them
  close(written, journal, console);
  return result;
}

// Writes down that the run failed, as far as that is possible, wherever a person may look.
void fail(const std::exception& error, const Run& run, const Journal& journal, Trackers& trackers,
          Console& console, const RunFolder& folder) {
  const std::string message = failure_text(error);
  log::write_to_files("error: " + message);
  const auto attempt = [](const std::function<void()>& step) {
    try {
      step();
    } catch (const std::exception& second) {
      log::error("Could not write down how the run failed: {}", second.what());
    }
  };
  RunResult result = result_of(run, journal);
  result.outcome = RunResult::Outcome::failed;
  result.message = message;
  attempt([&] { trackers.flush(); });  // the report reads metrics.jsonl
  attempt([&] { result = write_result(std::move(result), folder); });
  attempt([&] { trackers.finish(Outcome::failed, message); });
  attempt([&] { close(result, journal, console); });
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
  std::optional<EarlierPlan> earlier;
  if (start.checkpoint) earlier = ProgressState::plan_of(start.checkpoint->checkpoint.states["progress"]);
  Run run(recipe, world, earlier);
  rehearse(run);
  run.divergence.begin(run.engine);

  const bool main = world.is_main();
  const RunFolder folder = folder_of(start, recipe, world, options);
  log::add_file(folder.file("log.txt"));
  const bool shown = main && !options.quiet;
  Console console(shown ? ConsoleOutput::standard_error() : ConsoleOutput::silent(),
                  shown ? ConsoleOutput::standard_output() : ConsoleOutput::silent());
  RunSummary summary = summary_of(run, options.recipe_file);
  if (!options.dry_run) summary.folder = folder.path();
  console.summary(summary);

  const fs::path tracked = tracking_folder(folder, world);
  auto built = build_trackers(recipe.tracker, registry, {tracked, {}, world.rank()});
  if (options.dry_run) std::erase_if(built, [](const NamedTracker& each) { return !each.essential; });
  Trackers trackers(std::move(built), run_facts(recipe.run, tracked, resolved));
  Journal journal(trackers, console, run.plan, recipe.train.epochs, recipe.optimizer.common.group);
  run.stateful.emplace_back("journal", &journal);
  run.stateful.emplace_back("trackers", &trackers);

  // Restored before any file of the run is changed: a checkpoint that does not fit leaves it as it is.
  std::string saved_recipe;
  if (start.checkpoint) {
    saved_recipe = start.checkpoint->checkpoint.texts["recipe.toml"];
    const double lost = lost_seconds(folder, start.checkpoint->checkpoint);
    // A new run, and the trackers of other ranks, have another identity on tracking servers.
    if (options.resume_from || !main) start.checkpoint->checkpoint.states["trackers"] = {};
    restore_or_log(run, *std::exchange(start.checkpoint, std::nullopt));
    run.engine.times().add_lost(lost);
  }
  try {
    const Value kept = without_folder(main ? keep_plugins(resolved, registry, folder) : resolved);
    const std::string kept_recipe = write_toml(kept);
    // With another recipe, or as the start of a new run, a state of a run that has ended has something left
    // to do.
    if (options.resume_from || !has_same_recipe(saved_recipe, kept_recipe, world)) run.ended.reset();
    describe_run(folder, run, kept);
    if (main) world.tell_folder(options.dry_run ? "" : fs::absolute(folder.path()).string());
    if (start.resumed_at || options.resume_from) restore_best_files(run, folder.path());
    trackers.start(start.resumed_at);
    if (run.progress.step == 0) log_sample_images(run, trackers);

    const StopSignal signal;
    Checkpointer checkpoints(recipe.checkpoint, folder.path(), run.stateful, run.engine.times(),
                             {{"recipe.toml", kept_recipe}}, versions(),
                             {world, run.engine.sharded_states(run.stateful), timeout_of(recipe.distributed)},
                             save_hooks(run));
    if (run.progress.step > 0) {
      checkpoints.resumed(run.progress);
      checkpoints.measured(journal.last_evaluation());
    }
    const auto stop_signal = [&] {
      folder.require_there();
      const bool enough = options.interrupt_at && run.progress.step >= *options.interrupt_at;
      return signal.received() != 0 ? signal.received() : enough ? SIGINT : 0;
    };
    LoopControl control{stop_signal, folder.path(), [&] { return checkpoint_signal.take(); }};
    if (options.dry_run) {
      control.steps = dry_run_steps;
      control.eval_batches = dry_run_eval_batches;
    } else {
      control.checkpoints = &checkpoints;
    }
    const TrainingEnd end = train_or_keep_weights(run, journal, control, folder);
    return finish(run, journal, trackers, console, end, folder);
  } catch (const std::exception& error) {
    fail(error, run, journal, trackers, console, folder);
    throw;
  }
}

}  // namespace runner
