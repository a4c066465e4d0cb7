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
#include "runner/inference/offload/offload_model.hpp"
#include "runner/recipe.hpp"

namespace runner {

// Which run, which of its weights, and with what changes to its recipe.
struct TrainedSource {
  std::filesystem::path run;  // a run folder, or runs/<name> for the last run of that name, or the name alone
  // "best", "model" or a file; nothing: the best where it was kept, else the last. The last are those of the
  // newest complete checkpoint until the run has ended, and the log says so.
  std::string weights = {};
  std::vector<std::string> overrides = {};  // as for `runner run`: "run.device=cpu"
  std::map<std::string, std::string> environment = {};
  std::optional<OffloadOptions> offload = {};  // for a model that need not fit into memory
};

// A run folder brought back to life: the model as trained, in evaluation mode where the run was. The data it
// was trained on is not needed.
struct TrainedRun {
  std::filesystem::path folder, weights;
  Recipe recipe;
  DataSpec data;  // after the transforms: what the model was built for
  std::unique_ptr<World> world;
  Engine engine;
  std::shared_ptr<Model> model;
  std::unique_ptr<Dataset> dataset;
  TransformPipeline transforms;
  std::string learned;                          // what the dataset left for its interpreter
  std::unique_ptr<OffloadedWeights> offloaded;  // none: the weights are in memory

  // Throws std::runtime_error, naming the file, where what the dataset left is damaged.
  std::unique_ptr<Interpreter> interpreter() const;
  // The model may be used as long as this lives.
  OffloadedPass pass() const { return OffloadedPass(offloaded.get()); }
};

// Nothing comes back where the recipe is wrong; the diagnostics say why. Throws std::runtime_error, saying
// what is missing and what to do, where the folder does not hold what it should.
std::optional<TrainedRun> load_run(const TrainedSource& source, Registry& registry, Diagnostics& diagnostics);

// The folder alone. Throws InputError where there is no such run.
std::filesystem::path find_run(const std::filesystem::path& run);

// The weights in a checkpoint: a file, or the index of several. Throws std::runtime_error if it is damaged.
std::filesystem::path weights_of_checkpoint(const std::filesystem::path& checkpoint);

// The weights alone, `wanted` as in TrainedSource. Throws as above.
std::filesystem::path find_weights(const std::filesystem::path& folder, const std::string& wanted);

}  // namespace runner
