#pragma once

#include <memory>
#include <vector>

#include "runner/recipe/recipe.hpp"

namespace runner {

// Passes a small batch and the model's output for it to metrics and hooks as an evaluation does, and restores
// their state. Throws std::runtime_error, which names the component, if something does not fit.
void try_evaluation(const Recipe& recipe, const std::vector<std::unique_ptr<Metric>>& metrics,
                    const std::vector<std::unique_ptr<Hook>>& hooks, const Batch& batch,
                    const torch::Tensor& output);

}  // namespace runner
