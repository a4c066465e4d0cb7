// Run folders as training leaves them, with random weights.
#pragma once

#include <torch/types.h>
#include <torch/utils.h>

#include "components/models/weights/load_weights.hpp"
#include "components/models/weights/model_weights.hpp"
#include "runner/predict/load_run.hpp"
#include "runner/recipe/recipe.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/runs/data_spec_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/small_data.hpp"

namespace runner::testing {

using namespace small_data;

inline Batch examples(const DataSpec& data) {
  torch::manual_seed(5);
  const auto numbers = [&](std::vector<std::int64_t> shape, std::int64_t below) {
    shape.insert(shape.begin(), 3);
    return below > 0 ? torch::randint(1, below, shape, torch::kInt64) : torch::randn(shape);
  };
  Batch batch{numbers(data.input_shape, data.input_type == torch::kInt64 ? 11 : 0),
              numbers(data.target_shape, 2)};
  if (!data.categories.empty())
    batch.extra["categories"] = numbers({static_cast<std::int64_t>(data.categories.size())}, 3);
  return batch;
}

inline Registry& registry() {
  static Registry linked = Registry::of_linked();
  return linked;
}

// `model`: the table in the recipe, without its braces. The data that the recipe names is nowhere.
inline std::shared_ptr<Model> leave_run(const std::filesystem::path& folder, const std::string& model,
                                        const DataSpec& data, const std::string& more = "") {
  write_file(folder / "recipe.toml", "model = { " + model + " }\n" + more + R"(
dataset = { name = "tensors", train = "nowhere/train.safetensors", eval = "nowhere/eval.safetensors" }
optimizer = { name = "sgd", lr = 0.1 }
train = { max_steps = 1 }
)");
  write_file(folder / "data_spec.json", write_data_spec(data));
  Diagnostics diagnostics;
  const auto resolved = resolve_recipe({folder / "recipe.toml", {}, {}}, registry(), diagnostics);
  if (!resolved) throw std::runtime_error(render(diagnostics));
  const Recipe recipe = decode_table<Recipe>(*resolved, registry());
  torch::manual_seed(1);
  const std::shared_ptr<Model> built = recipe.model.build({data});
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : built->parameters()) parameter.add_(torch::randn_like(parameter), 0.1);
  save_weights(ModelWeights(*built).all(), folder / "model.safetensors");
  return built;
}

inline TrainedRun loaded(const TrainedSource& source) {
  Diagnostics diagnostics;
  auto run = load_run(source, registry(), diagnostics);
  if (!run) throw std::runtime_error(render(diagnostics));
  return std::move(*run);
}

}  // namespace runner::testing
