#pragma once

#include <filesystem>

#include "components/contract/state.hpp"
#include "components/contract/weights.hpp"
#include "components/models/model.hpp"
#include "runner/engine/zero3/sharded_parameters.hpp"

namespace runner {

// The weights of a model that is sharded across ranks. Saving and visiting them gathers one unit after the
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

  // Whole parameters, then buffers, on rank 0; nothing on other ranks. In main memory or, if a folder is
  // given, in a temporary file in it.
  std::vector<NamedTensor> all(const std::filesystem::path& folder = {}) const;

  // The whole parameters of the units that this rank saves (ShardedParameters::writer_of), in main memory,
  // and on rank 0 the buffers. No rank ever holds more than its share and one unit.
  State save() const override;
  void load(const State& state) override;  // from all weights; takes what this rank holds
  const Adaptation* adaptation() const { return model_.adaptation.get(); }

 private:
  const Model& model_;
  const ShardedParameters& parameters_;
  World& world_;
};

// The same weights, saved by rank 0 alone.
class WeightsOnOneRank final : public Stateful {
 public:
  explicit WeightsOnOneRank(ShardedWeights& weights) : weights_(weights) {}

  State save() const override;
  void load(const State& state) override { weights_.load(state); }

 private:
  ShardedWeights& weights_;
};

}  // namespace runner
