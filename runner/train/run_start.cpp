#include "runner/train/run_start.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "registry/base/log.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/lines.hpp"
#include "registry/files/open_file.hpp"
#include "registry/files/read_json.hpp"
#include "registry/recipe_error.hpp"
#include "registry/resolve_path.hpp"
#include "runner/checkpoint/shared_verification.hpp"
#include "runner/resolve/recipe_changes.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/train/best_files.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

// Whether the run in the folder reached its end, according to its result.json.
bool has_ended(const fs::path& run) {
  const auto result = read_json_file_or_null(run / "result.json");
  const auto is = [&](Outcome outcome) {
    return result.is_object() && result.contains("outcome") && result["outcome"] == name_of(outcome);
  };
  return is(Outcome::finished) || is(Outcome::stopped);
}

// Where the recipe sets this key ("hook.0.every"); for a key left at its default, where its section is set.
Origin place_of(const std::string& key, const Value& resolved) {
  Origin place = resolved.origin;
  const Value* value = &resolved;
  std::istringstream names(key);
  for (std::string name; value && std::getline(names, name, '.');) {
    if (const Table* table = value->as<Table>()) {
      value = table->find(name);
    } else if (const Array* list = value->as<Array>()) {
      const auto index = static_cast<std::size_t>(std::strtoull(name.c_str(), nullptr, 10));
      value = index < list->size() ? &(*list)[index] : nullptr;
    } else {
      value = nullptr;
    }
    if (value && !value->origin.is_default()) place = value->origin;
  }
  return place;
}

// A tracker or another number of workers is no reason to train a run further that a hook has stopped.
bool decides_the_end(const RecipeChange& change) {
  return change.effect != OnResume::harmless || change.mark == OnResume::length ||
         change.mark == OnResume::end;
}

// Refuses to continue with a recipe that does not fit the saved state, or, without --force, with one that
// changes the course of training. Returns whether a run that has ended may train on.
bool require_compatible(const fs::path& saved_recipe, const Value& resolved, const Registry& registry,
                        const fs::path& folder, bool force) {
  const auto changes = changes_since(saved_recipe, resolved, registry);
  const auto refuse_any = [&](OnResume effect, const char* remedy) {
    const auto found = std::ranges::find(changes, effect, &RecipeChange::effect);
    if (found != changes.end())
      throw RecipeError(place_of(found->key, resolved), "the run in " + folder.string() +
                                                            " was started with another recipe\n" +
                                                            changes_table(changes) + remedy);
  };
  refuse_any(OnResume::fixed, "choose another run.dir for the new recipe");
  if (!force)
    refuse_any(OnResume::course,
               "--force continues it with the new recipe; another run.dir starts a new run");
  if (!changes.empty()) log::info("continuing with another recipe:\n{}", changes_table(changes));
  return std::ranges::any_of(changes, decides_the_end);
}

// The path as given on the command line: links such as `latest` are not resolved, because they change.
std::string note_of(const fs::path& checkpoint) { return normal_path(fs::absolute(checkpoint)).string(); }

// A run that has checkpoints of its own continues from them if it is started from the same checkpoint again.
void require_same_start(const RunFolder& folder, const fs::path& given) {
  const auto noted = noted_start(folder.path());
  if (noted && *noted == note_of(given)) return;
  throw UnusableCheckpoint(
      "--resume starts a new run, but " + folder.path().string() + " already contains one" +
      (noted ? ", which was started from " + noted->string() : std::string()) + "; choose another run.dir");
}

FoundCheckpoint checkpoint_of_another_run(const fs::path& folder, const DamageCheck& check) {
  try {
    if (!fs::is_directory(folder))
      throw UnusableCheckpoint("There is no checkpoint " + folder.string() + ".");
    return {folder, read_checkpoint(folder, check)};
  } catch (const std::exception& error) {
    if (!is_about_checkpoint(error) && !dynamic_cast<const OtherFormat*>(&error)) throw;
    throw UnusableCheckpoint(error.what());
  }
}

RunStart look_in_run_dir(const Recipe& recipe, const Value& resolved, const Registry& registry,
                         const DamageCheck& check, const TrainOptions& options) {
  auto folder = RunFolder::find(recipe.run);
  if (!folder) return {};
  const std::string path = folder->path().string();
  if (recipe.checkpoint.resume == Resume::never)
    throw RecipeError(
        place_of("checkpoint.resume", resolved),
        "the run folder " + path +
            " already contains a run, and checkpoint.resume is \"never\"; choose another run.dir");
  const CheckpointStore store(folder->path());
  store.clear_leftovers();
  auto found = newest_checkpoint(store, check);
  // Until a run has checkpoints of its own, it may be started over from any checkpoint of another run.
  if (found && options.resume_from) require_same_start(*folder, *options.resume_from);
  const bool reopens = require_compatible(found ? found->folder / "recipe.toml" : folder->file("recipe.toml"),
                                          resolved, registry, folder->path(), options.force);
  if (found) {
    store.point_latest_to(found->folder);  // wrong after a crash, or if newer checkpoints are damaged
    const std::int64_t step = found->checkpoint.step;
    return {
        .folder = std::move(folder), .checkpoint = std::move(found), .resumed_at = step, .reopens = reopens};
  }
  if (const std::string why = why_not_started_over(folder->path()); !why.empty())
    throw RecipeError(place_of("run.dir", resolved), why);
  log::info("{} contains a run without a checkpoint: starting over", path);
  return {.folder = std::move(folder), .resumed_at = -1};
}

// Rank 0 searches, while the other ranks verify their share of the files and return an empty result.
RunStart find_verified_start(const Recipe& recipe, const Value& resolved, const Registry& registry,
                             World& world, const TrainOptions& options) {
  SharedVerification shared(world);
  if (!world.is_main()) {
    shared.help();
    return {};
  }
  const DamageCheck check = [&](const fs::path& folder, const nlohmann::json& manifest) {
    return shared.damage_of(folder, manifest);
  };
  RunStart start = options.dry_run ? RunStart{} : look_in_run_dir(recipe, resolved, registry, check, options);
  if (!start.checkpoint) {
    const auto other =
        options.resume_from || !start.folder ? options.resume_from : noted_start(start.folder->path());
    if (other) start.checkpoint = checkpoint_of_another_run(*other, check);
    start.of_another_run = other.has_value();
    start.reopens = start.reopens || start.of_another_run;
  }
  shared.finish();
  return start;
}

// Null if there is none.
nlohmann::json last_record(const fs::path& file) {
  BackwardLines lines(file);
  while (const auto line = lines.next()) {
    auto record = read_json_or_null(line->text);
    if (record.is_object() && record.contains("time") && record["time"].is_number() &&
        record.contains("step") && record["step"].is_number_integer())
      return record;
  }
  return nullptr;
}

}  // namespace

std::optional<fs::path> noted_start(const fs::path& run) {
  constexpr std::size_t longest_path = 1 << 16;
  const fs::path file = run / start_note;
  if (is_missing(file)) return std::nullopt;
  std::string path = read_file(file, longest_path);
  if (path.ends_with('\n')) path.pop_back();  // only one: a path may hold line ends
  if (path.empty()) return std::nullopt;
  return path;
}

std::string why_not_started_over(const fs::path& run) {
  const CheckpointStore store(run);
  if (!store.all().empty())
    return "every checkpoint in " + store.folder().string() +
           " is damaged; delete that folder to start the run over, or choose another run.dir";
  if (has_ended(run))
    return "the run folder " + run.string() +
           " contains a finished run with no checkpoint to resume from; choose another run.dir";
  return "";
}

RunStart find_start(const Recipe& recipe, const Value& resolved, const Registry& registry, World& world,
                    const TrainOptions& options) {
  RunStart start = find_verified_start(recipe, resolved, registry, world, options);
  const std::string resumed_at = world.broadcast_text(
      start.resumed_at ? std::to_string(*start.resumed_at) : "", 0, "the step to continue from");
  const std::string found_by_main =
      world.broadcast_text(start.checkpoint ? fs::absolute(start.checkpoint->folder).string() : "", 0,
                           "the checkpoint to continue from");
  start.of_another_run =
      !world.broadcast_text(start.of_another_run ? "yes" : "", 0, "whose checkpoint it is").empty();
  start.reopens = !world.broadcast_text(start.reopens ? "yes" : "", 0, "whether it may train on").empty();
  if (!resumed_at.empty()) start.resumed_at = std::stoll(resumed_at);
  if (!world.is_main() && !found_by_main.empty())
    start.checkpoint = FoundCheckpoint{found_by_main, read_checkpoint(found_by_main, already_checked)};
  return start;
}

void note_start(const RunFolder& folder, const RunStart& start, const TrainOptions& options) {
  if (start.of_another_run && options.resume_from)
    folder.write(start_note, note_of(*options.resume_from) + "\n");
  else if (!start.resumed_at)
    fs::remove(folder.file(start_note));  // of an earlier start that was cut short
}

double lost_seconds(const RunFolder& folder, const Checkpoint& checkpoint) {
  const auto last = last_record(folder.file("metrics.jsonl"));
  return last.is_object() ? std::max(0.0, last["time"].get<double>() - checkpoint.seconds) : 0;
}

void warn_about_missing_records(const RunFolder& folder, const Checkpoint& checkpoint) {
  const auto journal = checkpoint.states.find("journal");
  if (journal == checkpoint.states.end() || !journal->second.tensors.contains("loss_curve")) return;
  const torch::Tensor& curve = journal->second.tensors.at("loss_curve");
  if (curve.dim() != 2 || curve.numel() == 0) return;
  const auto recorded = curve[-1][0].to(torch::kInt64).item<std::int64_t>();
  const fs::path file = folder.file("metrics.jsonl");
  const auto last = last_record(file);
  const auto found = last.is_object() ? last["step"].get<std::int64_t>() : 0;
  if (found < recorded)
    log::warning("{} ends at step {}, but the run had recorded step {}: some of its records are lost.",
                 file.string(), found, recorded);
}

void restore_run(Run& run, FoundCheckpoint found) {
  call_load_hooks(model_states_hooks(run, &Hook::before_load), found.checkpoint, found.folder);
  // A recipe may start or stop keeping a best model in the middle of a run.
  if (run.best) found.checkpoint.states.try_emplace("best", run.best->save());
  if (!run.best) found.checkpoint.states.erase("best");
  const std::string restored = restore(found, run.stateful);
  log::info("resumed from {} at step {}, epoch {}: {}", found.folder.string(), run.progress.step,
            run.progress.exact_epoch, restored);
}

// The best weights are files in the run folder. A new run that starts from a checkpoint of another run does
// not have them.
void restore_best_files(Run& run, const fs::path& folder) {
  if (!run.best) return;
  World& world = run.engine.world();
  const BestFiles files(folder);
  std::ostringstream unusable;
  if (world.is_main()) {
    for (const std::int64_t step : files.unusable(*run.best)) unusable << step << " ";
  }
  std::istringstream steps(world.broadcast_text(unusable.str(), 0, "the best weights so far"));
  for (std::int64_t step = 0; steps >> step;) {
    const fs::path file = files.path_of(step);
    if (world.is_main() && fs::exists(file))
      log::warning("{} is damaged: it no longer counts as one of the best.", file.string());
    else if (world.is_main())
      log::info("the best weights of step {} are not in {}", step, folder.string());
    run.best->forget(step);
  }
  if (world.is_main()) files.restore(*run.best);
}

}  // namespace runner
