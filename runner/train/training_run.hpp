#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "components/contract/requests.hpp"
#include "components/datasets/dataset.hpp"
#include "components/schedulers/learning_rate.hpp"
#include "runner/engine/engine.hpp"
#include "runner/engine/runtime/generators.hpp"
#include "runner/recipe/parts.hpp"
#include "runner/recipe/plan.hpp"
#include "runner/recipe/recipe.hpp"
#include "runner/train/best_model.hpp"
#include "runner/train/divergence.hpp"
#include "runner/train/progress_state.hpp"

namespace runner {

// The components of a run, built in the order in which they depend on each other. Errors in data or weights
// are found here, before the first step.
struct Run {
  using ModelFactory = std::function<std::shared_ptr<Model>(const Recipe&, const DataSpec&)>;

  // `earlier`: the plan saved in the checkpoint that the run continues from. `learnt`: of the run that is
  // evaluated.
  Run(const Recipe& recipe, World& world, const std::optional<EarlierPlan>& earlier = {},
      const ModelFactory& make_model = {}, const LearntData& learnt = {});
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Recipe& recipe;
  Engine engine;
  Splits data;
  Plan plan;
  std::unique_ptr<Loss> loss;
  std::vector<std::unique_ptr<Metric>> metrics;
  std::vector<Measured> measured;  // what evaluations report: "eval/accuracy" ..
  LearningRate learning_rate;
  std::vector<std::unique_ptr<Hook>> hooks;
  std::optional<BestModel> best;
  DivergenceGuard divergence;
  Requests requests;  // of the hooks, not carried out yet
  Progress progress;
  bool evaluation_due = false;  // the last one was cancelled or failed
  std::optional<std::string>
      ended;  // set when the run is over: the reason of the hook that stopped it; empty: it is finished
  ProgressState progress_state{progress, plan, data.stand_in, evaluation_due, ended};
  Generators generators;

  // What a checkpoint saves, by name: every object that keeps state from one update to the next.
  std::vector<std::pair<std::string, Stateful*>> stateful;

  bool within_step = false;  // in the middle of a step: the state is inconsistent and must not be saved

  // Lets a run that has ended continue: with another recipe, or as the start of a new run.
  void reopen() {
    ended.reset();
    requests.forget_stop();
  }
};

// The calls of the run's hooks around a checkpoint: &Hook::before_save or &Hook::before_load of each.
using ModelStatesCall = void (Hook::*)(ModelStates& models, const std::filesystem::path& folder);
std::vector<ModelStatesHook> model_states_hooks(const Run& run, ModelStatesCall call);

}  // namespace runner
