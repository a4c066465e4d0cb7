#pragma once

#include <optional>

#include "components/support/operator_mode.hpp"
#include "runner/engine/sharded_parameters.hpp"
#include "runner/engine/sharded_weights.hpp"
#include "runner/engine/sliced_state.hpp"

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
