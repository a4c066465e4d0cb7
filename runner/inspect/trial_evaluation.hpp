#pragma once

#include <memory>
#include <vector>

#include "runner/recipe.hpp"

namespace runner {

// Takes a small batch and the model's output for it through metrics and hooks as an evaluation does, and
// leaves both as they were. Throws std::runtime_error, naming the part, where something does not fit.
void try_evaluation(const Recipe& recipe, const std::vector<std::unique_ptr<Metric>>& metrics,
                    const std::vector<std::unique_ptr<Hook>>& hooks, const Batch& batch,
                    const torch::Tensor& output);

}  // namespace runner
