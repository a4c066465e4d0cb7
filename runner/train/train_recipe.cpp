#include "runner/train/train_recipe.hpp"

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "components/support/io/sha256.hpp"
#include "registry/log.hpp"
#include "registry/log_files.hpp"
#include "runner/checkpoint/checkpointer.hpp"
#include "runner/checkpoint/recipe_changes.hpp"
#include "runner/checkpoint/resume.hpp"
#include "runner/engine/process.hpp"
#include "runner/engine/together.hpp"
#include "runner/inspect/slow_precision.hpp"
#include "runner/plugins/keep_plugins.hpp"
#include "runner/recipe/write.hpp"
#include "runner/report/run_report.hpp"
#include "runner/resolve.hpp"
#include "runner/run_folder/data_spec_file.hpp"
#include "runner/run_folder/run_folder.hpp"
#include "runner/tracking/build_trackers.hpp"
#include "runner/tracking/run_facts.hpp"
#include "runner/train/checkpoint_signal.hpp"
#include "runner/train/kept_weights.hpp"
#include "runner/train/rehearsal.hpp"
#include "runner/train/run_summary.hpp"
#include "runner/train/sample_images.hpp"
#include "runner/train/stop_signal.hpp"
#include "runner/train/train.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t dry_run_steps = 2, dry_run_eval_batches = 4;

using NamedFile = std::pair<std::string, fs::path>;

// All weights of the run; what each file is, and where.
std::vector<NamedFile> save_all_weights(Run& run, const RunFolder& folder) {
  std::vector<NamedFile> files;
  if (run.recipe.train.on_divergence == OnDivergence::stop && !weights_are_finite(run.engine.model())) {
    log::error("The weights hold numbers that are not finite, so model.safetensors is not written.");
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

// Whether the run that a folder holds came to its end, as its result says.
bool has_ended(const RunFolder& folder) {
  std::ifstream file(folder.file("result.json"));
  const auto result = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!result.is_object()) return false;
  const std::string outcome = result.value("outcome", "");
  return outcome == "finished" || outcome == "stopped";
}

// A run that was killed before its first checkpoint begins again: nothing of the attempt is left but its log.
void clear_attempt(const RunFolder& folder) {
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename().string();
    if (name != ".lock" && name != "log.txt") fs::remove_all(entry.path());
  }
}

// How much later than the checkpoint an earlier attempt died, as far as it was written down.
double lost_seconds(const RunFolder& folder, const Checkpoint& checkpoint) {
  std::ifstream file(folder.file("metrics.jsonl"));
  double last = checkpoint.seconds;
  for (std::string line; std::getline(file, line);) {
    const auto record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (record.is_object() && record.contains("time") && record["time"].is_number())
      last = std::max(last, record["time"].get<double>());
  }
  return last - checkpoint.seconds;
}

// Refuses to continue a run with a recipe that its state does not fit, or, unless forced, one that changes
// its course.
void require_compatible(const Value& resolved, const RunFolder& folder, const Registry& registry,
                        bool force) {
  const auto changes = changes_since(folder.file("recipe.toml"), resolved, registry);
  const auto any = [&](OnResume effect) {
    return std::ranges::any_of(changes, [&](const RecipeChange& change) { return change.effect == effect; });
  };
  const std::string start =
      "the run in " + folder.path().string() + " was made with another recipe:\n" + changes_table(changes);
  if (any(OnResume::fixed)) throw std::runtime_error(start + "choose another run.dir for the new recipe");
  if (any(OnResume::course) && !force)
    throw std::runtime_error(start +
                             "--force continues it with the new recipe; another run.dir starts a new run");
  if (!changes.empty()) log::info("continued with another recipe:\n{}", changes_table(changes));
}

// What a checkpoint keeps of the trackers. They were given it when they were made: they start before anything
// else is restored.
class TrackersState final : public Stateful {
 public:
  explicit TrackersState(Trackers& trackers) : trackers_(trackers) {}

  State save() const override {
    trackers_.flush();  // what was measured before a checkpoint is in the files when the checkpoint is
    return trackers_.save();
  }
  void load(const State&) override {}

 private:
  Trackers& trackers_;
};

// The folder that this run writes to, and the checkpoint that it goes on from, if there is one.
struct RunPlace {
  RunFolder folder;
  std::optional<FoundCheckpoint> checkpoint;
};

RunPlace take_up(RunFolder folder, Resume resume) {
  const std::string path = folder.path().string();
  if (resume == Resume::never)
    throw std::runtime_error("the run folder " + path + " holds a run, and checkpoint.resume is \"never\"");
  const CheckpointStore store(folder.path());
  store.clear_leftovers();
  auto found = newest_checkpoint(store);
  if (!found && has_ended(folder))
    throw std::runtime_error(
        "the run folder " + path +
        " holds a run that has ended, without a checkpoint to go on from; choose another run.dir");
  if (!found) {
    log::info("{} holds a run without a complete checkpoint: it begins again", path);
    clear_attempt(folder);
  }
  return {std::move(folder), std::move(found)};
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

std::string fingerprint(const std::string& text) {
  Sha256 digest;
  digest.update({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return digest.hex().substr(0, 12);
}

// Ranks that were started with different things would not train one model.
void require_equal_ranks(World& world, const Run& run, const Value& resolved, const Registry& registry) {
  Claims claims{{"recipe", fingerprint(write_toml(resolved))},
                {"training examples", std::to_string(run.data.train->size())},
                {"evaluation examples", std::to_string(run.data.eval ? run.data.eval->size() : 0)},
                {"data", fingerprint(write_data_spec(run.data.train->spec()) + run.data.learned)}};
  for (const auto& [name, version] : versions()) claims.emplace_back("version of " + name, version);
  for (const Library* library : registry.libraries())
    claims.emplace_back("plugin " + fs::path(library->path).filename().string(),
                        library->sha256.substr(0, 12));
  require_equal(world, claims);
}

}  // namespace

RunResult train_recipe(const Value& resolved, const Registry& registry, World& world,
                       const TrainOptions& options) {
  keep_freed_memory();
  const Recipe recipe = decode_table<Recipe>(resolved, registry);
  // The number of threads changes bits: one, where they are to be the same on any number of ranks.
  const int threads = recipe.distributed.reproducible ? std::max(recipe.run.threads, 1) : recipe.run.threads;
  apply(ProcessSettings{threads, world.local_size(), recipe.run.deterministic});
  if (world.alone()) {  // several ranks have threads by now, and have done it before
    if (const std::string steered = steer_around_broken_instructions(); !steered.empty())
      log::warning(steered);
  }
  if (const std::string slow = slow_precision(recipe); !slow.empty() && world.is_main()) log::warning(slow);
  // Rank 0 has the run's folder; the others only read what it says there is.
  const bool main = world.is_main();
  std::optional<RunPlace> place;
  if (main && !options.dry_run) {
    if (auto existing = RunFolder::find(recipe.run)) {
      if (options.resume_from)
        throw std::runtime_error("--resume starts a new run, but " + existing->path().string() +
                                 " holds one already; choose another run.dir");
      require_compatible(resolved, *existing, registry, options.force);
      place.emplace(take_up(std::move(*existing), recipe.checkpoint.resume));
    }
  }
  const std::string found_by_main =
      world.broadcast_text(place && place->checkpoint ? fs::absolute(place->checkpoint->folder).string() : "",
                           0, "the checkpoint to go on from");
  Run run(recipe, world);
  rehearse(run);
  if (!world.alone()) require_equal_ranks(world, run, resolved, registry);
  if (!place)
    place.emplace(
        RunPlace{options.dry_run || !main ? RunFolder::make_temporary() : RunFolder::create(recipe.run), {}});
  if (!main && !found_by_main.empty())
    place->checkpoint = FoundCheckpoint{found_by_main, read_checkpoint(found_by_main)};
  if (options.resume_from)
    place->checkpoint = FoundCheckpoint{*options.resume_from, read_checkpoint(*options.resume_from)};
  const RunFolder& folder = place->folder;
  log::add_file(folder.file("log.txt"));
  const Value kept = without_folder(main ? keep_plugins(resolved, registry, folder) : resolved);
  describe_run(folder, run, kept);
  if (main) world.tell_folder(options.dry_run ? "" : fs::absolute(folder.path()).string());

  const bool shown = main && !options.quiet;
  Console console(shown ? ConsoleOutput::standard_error() : ConsoleOutput::silent(),
                  shown ? ConsoleOutput::standard_output() : ConsoleOutput::silent());
  RunSummary summary = summary_of(run, options.recipe_file);
  if (!options.dry_run) summary.folder = folder.path();
  console.summary(summary);
  auto built = main ? build_trackers(recipe.tracker, registry, {folder.path()}) : std::vector<NamedTracker>();
  if (options.dry_run) std::erase_if(built, [](const NamedTracker& each) { return !each.essential; });
  RunFacts facts = run_facts(recipe.run, folder.path(), resolved);
  State saved_trackers;
  double lost = 0;  // asked before the trackers cut off what the earlier attempt wrote after its checkpoint
  if (place->checkpoint) {
    if (!options.resume_from) facts.resumed_at = place->checkpoint->checkpoint.step;
    saved_trackers = place->checkpoint->checkpoint.states["trackers"];
    lost = lost_seconds(folder, place->checkpoint->checkpoint);
  }
  Trackers trackers(std::move(built), std::move(facts), options.resume_from ? State{} : saved_trackers);
  Journal journal(trackers, console, run.plan, recipe.train.epochs, recipe.optimizer.common.group);
  TrackersState trackers_state(trackers);
  run.stateful.emplace_back("journal", &journal);
  run.stateful.emplace_back("trackers", &trackers_state);
  if (place->checkpoint) {
    FoundCheckpoint& found = *place->checkpoint;
    const std::string restored = restore(found, run.stateful);
    run.engine.times().add_lost(lost);
    // Another recipe, or a new run that begins with this state, has something left to do.
    if (options.resume_from || found.checkpoint.texts["recipe.toml"] != write_toml(kept)) run.ended.reset();
    log::info("resumed from {} at step {}, epoch {}: {}", found.folder.string(), run.progress.step,
              run.progress.exact_epoch, restored);
    place->checkpoint.reset();  // its files need not stay mapped
  } else {
    log_sample_images(run, trackers);
  }

  const StopSignal signal;
  Checkpointer checkpoints(recipe.checkpoint, folder.path(), run.stateful, run.engine.times(),
                           {{"recipe.toml", write_toml(kept)}}, versions(), main);
  const CheckpointSignal checkpoint_signal;
  const auto stopping = [&] {
    folder.require_there();
    const bool enough = options.interrupt_at && run.progress.step >= *options.interrupt_at;
    return signal.received() != 0 ? signal.received() : enough ? SIGINT : 0;
  };
  LoopControl control{stopping, folder.path(), [&] { return checkpoint_signal.take(); }};
  if (options.dry_run) {
    control.steps = dry_run_steps;
    control.eval_batches = dry_run_eval_batches;
  } else {
    control.checkpoints = &checkpoints;
  }

  const auto write_down = [&](RunResult result) {
    if (folder.temporary()) result.files.clear();
    if (result.best && !folder.temporary())
      result.files.emplace_back("best model", folder.file("best.safetensors"));
    if (!folder.temporary()) result.files.emplace_back("measurements", folder.file("metrics.jsonl"));
    folder.write("result.json", result_json(result, folder.path()));
    if (!folder.temporary()) leave_report(folder.path());
    return result;
  };
  const auto say = [&](const RunResult& result) {
    console.closing(closing_of(result, journal));
    log::close_files();
  };
  try {
    const TrainingEnd end = train_or_keep_weights(run, journal, control, folder);
    auto files = save_all_weights(run, folder);
    RunResult result = result_of(run, journal);
    result.outcome = end.why == TrainingEnd::finished   ? RunResult::Outcome::finished
                     : end.why == TrainingEnd::stopped  ? RunResult::Outcome::stopped
                     : end.why == TrainingEnd::diverged ? RunResult::Outcome::failed
                                                        : RunResult::Outcome::interrupted;
    result.message = end.reason;
    result.signal = end.signal;
    result.files = std::move(files);
    trackers.flush();  // the report reads metrics.jsonl
    RunResult written = write_down(result);
    if (!folder.temporary()) {
      const char* model = run.best && run.best->value() ? "best.safetensors" : "model.safetensors";
      for (const char* name : {model, "report.html"}) trackers.artifact(name, folder.file(name));
    }
    trackers.finish(end.why == TrainingEnd::finished   ? Outcome::finished
                    : end.why == TrainingEnd::diverged ? Outcome::failed
                                                       : Outcome::stopped,
                    end.reason);
    written.warnings = log::warnings();  // what a tracker could not send is among them
    say(written);
    return result;
  } catch (const std::exception& error) {
    log::write_to_files(std::string("error: ") + error.what());
    RunResult result = result_of(run, journal);
    result.outcome = RunResult::Outcome::failed;
    result.message = error.what();
    try {
      trackers.finish(Outcome::failed, error.what());
      say(write_down(result));
    } catch (const std::exception& second) {
      log::error("The end of the failed run could not be written: {}", second.what());
    }
    throw;
  }
}

}  // namespace runner
