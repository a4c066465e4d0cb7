#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "runner/engine/engine.hpp"
#include "runner/predict/offload/offload_model.hpp"
#include "runner/recipe/parts.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

// Which run, which of its weights, and with what changes to its recipe.
struct TrainedSource {
  std::filesystem::path run;  // a run folder, or runs/<name> for the last run of that name, or the name alone
  // "best", "model" or a file; empty: the best if they were saved, otherwise the last. Until the run has
  // ended, the last are those of its newest complete checkpoint, and the log says so.
  std::string weights = {};
  std::vector<std::string> overrides = {};  // as for `runner run`: "run.device=cpu"
  std::map<std::string, std::string> environment = {};
  std::optional<OffloadOptions> offload = {};  // for a model that need not fit into memory
};

// A loaded run: its trained model in evaluation mode, on the device of its recipe. The training data is not
// needed.
struct TrainedRun {
  std::filesystem::path folder, weights;
  Recipe recipe;
  DataSpec data;  // after the transforms: what the model was built for
  std::unique_ptr<World> world;
  Engine engine;
  std::shared_ptr<Model> model;
  std::unique_ptr<Dataset> dataset;
  TransformPipeline transforms;
  std::string learned;                          // contents of dataset.json, for the interpreter
  std::unique_ptr<OffloadedWeights> offloaded;  // null: the weights are in memory

  // Throws std::runtime_error that names the file if dataset.json is damaged.
  std::unique_ptr<Interpreter> interpreter() const;
  // The model may be used while the returned object exists.
  OffloadedPass pass() const { return OffloadedPass(offloaded.get()); }
};

// Returns nullopt if the recipe is wrong; the diagnostics say why. Throws std::runtime_error, saying what is
// missing and what to do, if the run folder is incomplete.
std::optional<TrainedRun> load_run(const TrainedSource& source, Registry& registry, Diagnostics& diagnostics);

// Finds the run folder. Throws InputError if there is no such run, and IoError if it has a pipe in place of a
// file.
std::filesystem::path find_run(const std::filesystem::path& run);

// What the run learnt from its training data: dataset.json and data_spec.json. Old runs have neither. Throws
// std::runtime_error that names the file if one is damaged.
LearntData learnt_data(const std::filesystem::path& folder);

// The weights in a checkpoint: a file, or the index of several. Throws std::runtime_error if it is damaged.
std::filesystem::path weights_of_checkpoint(const std::filesystem::path& checkpoint);

// Finds the weights; `wanted` as in TrainedSource. Throws InputError or std::runtime_error.
std::filesystem::path find_weights(const std::filesystem::path& folder, const std::string& wanted);

}  // namespace runner
