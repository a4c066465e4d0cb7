#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "components/datasets/dataset.hpp"
#include "components/schedulers/support/learning_rate.hpp"
#include "runner/engine/engine.hpp"
#include "runner/plan.hpp"
#include "runner/recipe.hpp"
#include "runner/train/best_model.hpp"
#include "runner/train/divergence.hpp"

namespace runner {

// Everything a run is made of, built and ready.
struct Run {
  const Recipe& recipe;
  Splits data;
  Plan plan;
  Engine engine;
  std::shared_ptr<Model> model;
  std::unique_ptr<Loss> loss;
  std::vector<std::unique_ptr<Metric>> metrics;
  std::unique_ptr<Optimizer> optimizer;
  LearningRate learning_rate;
  std::vector<std::unique_ptr<Hook>> hooks;
  std::optional<BestModel> best;
  DivergenceGuard divergence;
  Progress progress = {};
};

}  // namespace runner
