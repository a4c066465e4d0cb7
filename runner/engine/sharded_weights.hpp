#pragma once

#include <filesystem>

#include "components/contract/state.hpp"
#include "components/contract/weights.hpp"
#include "components/models/model.hpp"
#include "runner/engine/sharded_parameters.hpp"

namespace runner {

// The weights of a model that is sharded across ranks. Saving and looking at them gathers one unit after the
// other, and every rank takes part.
class ShardedWeights final : public Weights, public Stateful {
 public:
  ShardedWeights(const Model& model, const ShardedParameters& parameters, World& world)
      : model_(model), parameters_(parameters), world_(world) {}

  std::vector<NamedTensor> held_parameters() const override;  // slices
  std::vector<NamedTensor> held_buffers() const override;
  void visit(const Visit& visit) const override;
  std::vector<std::string> parameter_names() const override;
  bool trained(const std::string& name) const override;

  // Parameters, then buffers, whole, on rank 0; nothing on the others. In main memory, or in a temporary file
  // of the folder, where one is given.
  std::vector<NamedTensor> all(const std::filesystem::path& folder = {}) const;

  // The parameters of the units that this rank saves (ShardedParameters::writer_of), whole, in main memory,
  // and on rank 0 the buffers: no rank ever has more than its share and one unit.
  State save() const override;
  void load(const State& state) override;  // takes what this rank holds from all of them

 private:
  const Model& model_;
  const ShardedParameters& parameters_;
  World& world_;
};

// The same, saved by rank 0 alone.
class WeightsOnOneRank final : public Stateful {
 public:
  explicit WeightsOnOneRank(ShardedWeights& weights) : weights_(weights) {}

  State save() const override;
  void load(const State& state) override { weights_.load(state); }

 private:
  ShardedWeights& weights_;
};

}  // namespace runner
