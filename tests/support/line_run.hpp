// A straight line fitted to a few points by gradient descent: a run whose every number can be worked out by
// hand.
#pragma once

#include <torch/types.h>
#include <torch/utils.h>

#include <string>
#include <vector>

#include "components/weights/safetensors.hpp"
#include "runner/train/training_run.hpp"
#include "tests/support/decoded_recipe.hpp"

namespace runner::testing {

// The model is slope * x + offset, both 0 at first, and the loss the mean squared difference from y. The
// points are trained on in order, and evaluated on.
class LineRun {
 public:
  LineRun(const std::vector<float>& x, const std::vector<float>& y, std::vector<std::string> overrides = {})
      : files(text), recipe(recipe_for(files, x, y, std::move(overrides))), run(recipe, world) {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : run.engine.model().parameters()) parameter.zero_();
  }

  double slope() { return run.engine.model().named_parameters()["fc1.weight"].item<double>(); }
  double offset() { return run.engine.model().named_parameters()["fc1.bias"].item<double>(); }

  Recipes files;
  Recipe recipe;
  World world;
  Run run;

 private:
  static constexpr const char* text = R"(
[model]
name = "mlp"
hidden = []
[dataset]
name = "tensors"
train = "points.safetensors"
eval = "points.safetensors"
[loader]
batch_size = 2
shuffle = false
[loss]
name = "mse"
[optimizer]
name = "sgd"
lr = 0.1
momentum = 0.0
[train]
epochs = 1
log_every = "1step"
[[eval.metric]]
name = "loss"
)";

  static Recipe recipe_for(const Recipes& files, const std::vector<float>& x, const std::vector<float>& y,
                           std::vector<std::string> overrides) {
    write_safetensors(files.folder / "points.safetensors",
                      {{"input", torch::tensor(x).unsqueeze(1)}, {"target", torch::tensor(y).unsqueeze(1)}});
    return decoded_recipe(files, std::move(overrides));
  }
};

}  // namespace runner::testing
