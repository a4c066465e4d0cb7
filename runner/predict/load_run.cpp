#include "runner/predict/load_run.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "components/models/weights/load_weights.hpp"
#include "components/weights/sharded_safetensors.hpp"
#include "registry/base/log.hpp"
#include "registry/files/open_file.hpp"
#include "registry/files/read_json.hpp"
#include "runner/checkpoint/checkpoint_store.hpp"
#include "runner/engine/runtime/process.hpp"
#include "runner/process/input_error.hpp"
#include "runner/recipe/parts.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/runs/data_spec_file.hpp"
#include "runner/runs/own_files.hpp"
#include "runner/runs/run_record.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

// Run folders are named after their start time, so the last name is the newest run. A folder that cannot be
// read, perhaps because it is another user's, is like one without runs.
std::optional<fs::path> last_run_in(const fs::path& folder) {
  if (is_run_folder(folder / "latest")) return folder / "latest";
  std::optional<fs::path> last;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (is_run_folder(path) && (!last || path.filename() > last->filename())) last = path;
  }
  return last;
}

// The runs in the current folder, the newest first, for an error message.
std::string known_runs() {
  constexpr std::size_t most_named = 10;
  std::vector<std::pair<std::string, std::string>> runs;  // name of the newest run: its start time; folder
  std::error_code error;
  for (fs::directory_iterator entry("runs", error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const fs::path& path = entry->path();  // of a name, or of a single run: run.dir=runs/x
    if (const auto last = is_run_folder(path) ? path : last_run_in(path))
      runs.emplace_back(fs::weakly_canonical(*last, ignored).filename().string(), entry->path().string());
  }
  if (runs.empty()) return "there are no runs in " + (fs::current_path() / "runs").string() + ".";
  std::ranges::sort(runs, std::greater());
  std::string names;
  for (std::size_t i = 0; i < std::min(runs.size(), most_named); ++i)
    names += (i == 0 ? "" : ", ") + runs[i].second;
  return "existing runs: " + names + (runs.size() > most_named ? " and more in runs/." : ".");
}

// Resuming a run writes the description of its data again, even if no steps are left.
std::string damage_text(const fs::path& file, const std::string& why) {
  return "Cannot use " + file.string() + ": " + why + (why.ends_with('.') ? "" : ".") + " `runner resume " +
         file.parent_path().string() + "` writes the file again if the data is on this machine.";
}

std::optional<DataSpec> saved_data(const fs::path& folder) {
  const fs::path file = folder / "data_spec.json";
  if (!fs::exists(file)) return std::nullopt;
  try {
    return read_data_spec(read_file(file, largest_json));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(damage_text(file, error.what()));
  }
}

LearntData learnt_data(const fs::path& folder, const std::optional<DataSpec>& saved) {
  const fs::path learned = folder / "dataset.json";
  return {fs::exists(learned) ? read_file(learned, largest_json) : "",
          saved ? saved->class_names : std::vector<std::string>{}};
}

// The checkpoint must not be damaged.
fs::path weights_in(const fs::path& checkpoint) {
  const auto manifest = read_manifest(checkpoint);
  return find_safetensors(checkpoint, "model",
                          [&](const std::string& file) { return is_listed(manifest, file); });
}

// A run writes model.safetensors when it ends; until then its newest complete checkpoint has the weights.
std::optional<fs::path> newest_saved_weights(const fs::path& folder) {
  for (const fs::path& checkpoint : CheckpointStore(folder).all()) {
    if (!is_intact(checkpoint)) continue;
    log::info("the run has not ended: these are the weights of its checkpoint {}",
              checkpoint.filename().string());
    return weights_in(checkpoint);
  }
  return std::nullopt;
}

fs::path find_run_folder(const fs::path& run) {
  if (run.empty()) throw InputError("The name of the run is empty; " + known_runs());
  std::error_code ignored;
  if (fs::is_regular_file(run, ignored)) {
    throw InputError(run.string() + " is a file; give the run folder that holds it.");
  }
  if (is_run_folder(run)) return run;
  if (const auto found = last_run_in(run)) return *found;
  if (const auto found = last_run_in(fs::path("runs") / run); found && run.is_relative()) return *found;
  if (fs::is_directory(run, ignored)) {
    throw InputError("The folder " + run.string() + " is not a run: it has no recipe.toml.");
  }
  throw InputError("There is no run folder " + run.string() + "; " + known_runs());
}

// The data before any transform. If the data is missing: images of unknown size.
DataSpec before_transforms(const Dataset& dataset, const std::optional<DataSpec>& saved) {
  try {
    return dataset.spec();
  } catch (const DataError&) {
    if (!saved || !saved->images) throw;
    DataSpec any = *saved;
    any.input_shape = {saved->input_shape.at(0), -1, -1};
    return any;
  }
}

}  // namespace

std::unique_ptr<Interpreter> TrainedRun::interpreter() const {
  try {
    return dataset->interpreter(transforms, learned);
  } catch (const std::runtime_error& error) {
    if (learned.empty()) throw;
    throw std::runtime_error(damage_text(folder / "dataset.json", error.what()));
  }
}

fs::path find_run(const fs::path& run) {
  fs::path folder = find_run_folder(run);
  require_own_files(folder);
  return folder;
}

LearntData learnt_data(const fs::path& folder) {
  LearntData learnt = learnt_data(folder, saved_data(folder));
  const fs::path file = folder / "dataset.json";
  if (learnt.learned.empty() && fs::exists(file)) throw std::runtime_error(damage_text(file, "it is empty"));
  return learnt;
}

fs::path weights_of_checkpoint(const fs::path& checkpoint) {
  if (const std::string damage = damage_of(checkpoint); !damage.empty())
    throw std::runtime_error("The checkpoint " + checkpoint.string() + " cannot be used: " + damage + ".");
  return weights_in(checkpoint);
}

fs::path find_weights(const fs::path& folder, const std::string& wanted) {
  const fs::path best = folder / "best.safetensors", last = folder / "model.safetensors";
  if (wanted.empty()) {
    if (fs::exists(best)) return best;
    if (fs::exists(last)) return last;
    if (const auto saved = newest_saved_weights(folder)) return *saved;
    throw std::runtime_error("The run folder " + folder.string() +
                             " contains no weights, neither best.safetensors nor model.safetensors nor a "
                             "complete checkpoint: the run has not finished. --weights FILE names others.");
  }
  if (wanted != "best" && wanted != "model") {
    if (!fs::exists(wanted)) throw InputError("There is no weights file " + wanted + ".");
    return wanted;
  }
  const fs::path& chosen = wanted == "best" ? best : last;
  if (fs::exists(chosen)) return chosen;
  if (const auto saved = wanted == "model" ? newest_saved_weights(folder) : std::nullopt) return *saved;
  throw std::runtime_error(
      "The run folder " + folder.string() + " has no " + chosen.filename().string() + ": " +
      (wanted == "best" ? "a run with checkpoint.best writes it after its first evaluation."
                        : "a run writes it at its end."));
}

std::optional<TrainedRun> load_run(const TrainedSource& source, Registry& registry,
                                   Diagnostics& diagnostics) {
  const fs::path folder = find_run(source.run);
  const fs::path weights = find_weights(folder, source.weights);
  const auto resolved =
      resolve_recipe({folder / "recipe.toml", source.environment, source.overrides}, registry, diagnostics);
  if (!resolved) return std::nullopt;
  Recipe recipe = decode_table<Recipe>(*resolved, registry);

  // A run that started from pretrained weights keeps their config.json, so these need not be there any more.
  if (!recipe.model.common.adapter && fs::exists(folder / "config.json"))
    recipe.model.common.weights = folder;
  const std::optional<DataSpec> saved = saved_data(folder);
  LearntData learnt = learnt_data(folder, saved);
  auto dataset = build_dataset(recipe, learnt);
  TransformPipeline transforms;  // if there are none, the dataset is not asked for its spec
  if (!recipe.dataset.common.transform.empty()) {
    transforms = build_pipeline(recipe.dataset.common.transform, before_transforms(*dataset, saved));
  }
  // Old runs have no data_spec.json; their model can be built if the data is available.
  const DataSpec data = saved ? *saved : after(transforms, dataset->spec(), /*training=*/true);

  apply(ProcessSettings{.threads = recipe.run.threads,
                        .deterministic = recipe.run.deterministic,
                        .cudnn_benchmark = recipe.run.cudnn_benchmark});
  if (source.offload && recipe.model.common.adapter)
    throw std::runtime_error(
        "--offload cannot add an adapter to its model: `runner export --merge` writes both as one, for "
        "model.weights of another recipe.");
  auto world = std::make_unique<World>();
  Engine engine(engine_options(recipe), *world);
  auto [model, offloaded] = source.offload
                                ? offload_model(recipe, data, weights, *source.offload)
                                : OffloadedModel{.model = build_bare_model(recipe, data), .weights = nullptr};
  if (recipe.model.common.adapter) apply_common(*model, recipe.model.common);
  if (!offloaded) load_weights(*model, weights, {});
  engine.prepare(model);
  if (offloaded) offloaded->load();
  model->eval();
  return TrainedRun{folder,
                    weights,
                    std::move(recipe),
                    data,
                    std::move(world),
                    std::move(engine),
                    std::move(model),
                    std::move(dataset),
                    std::move(transforms),
                    std::move(learnt.learned),
                    std::move(offloaded)};
}

}  // namespace runner
