#pragma once

#include <optional>

#include "components/torch/operator_mode.hpp"
#include "runner/engine/zero3/sharded_parameters.hpp"
#include "runner/engine/zero3/sharded_weights.hpp"
#include "runner/engine/zero3/sliced_state.hpp"

namespace runner {

// A model whose parameters are sharded across ranks, with access to its weights and to state that is kept for
// them.
struct Sharding {
  Sharding(World& world, const Model& model, const ShardingOptions& options, ParameterValues values = {})
      : parameters(world, model, options, std::move(values)),
        weights(model, parameters, world),
        weights_on_one_rank(weights),
        states(model, parameters, world) {}

  ShardedParameters parameters;
  ShardedWeights weights;
  WeightsOnOneRank weights_on_one_rank;
  SlicedStates states;
};

// The model can run forward passes while this object exists. Without sharding it does nothing.
class ForwardPass {
 public:
  explicit ForwardPass(Sharding* sharding) {
    if (!sharding) return;
    sharding->parameters.begin_forward();
    scope_.emplace(sharding->parameters);
  }

 private:
  std::optional<OperatorModeScope> scope_;
};

}  // namespace runner
