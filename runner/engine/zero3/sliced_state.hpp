#pragma once

#include <map>
#include <string>
#include <vector>

#include "components/contract/state.hpp"
#include "components/models/model.hpp"
#include "runner/engine/world.hpp"
#include "runner/engine/zero3/sharded_parameters.hpp"

namespace runner {

// States that ranks keep for their slices of parameters: of an optimizer, of averages. A tensor that is named
// "<parameter>" or "<parameter>.<slot>" and has the shape of the rank's slice is a slice, too. Whole tensors
// are saved, each by one rank, so that any number of ranks can load them.
class SlicedStates {
 public:
  SlicedStates(const Model& model, const ShardedParameters& parameters, World& world);

  // What this rank saves: the tensors that are joined on it, and other tensors of which it is the first rank
  // to have them. Every rank takes part. Tensors are joined one by one, so that no rank holds more than its
  // share and one tensor.
  State join(const State& own) const;
  State slice(const State& whole) const;  // the part of the saved state that this rank needs

 private:
  struct Place {
    const ShardedUnit* unit;
    std::size_t parameter;
    int writer;  // the rank that joins its slices
  };
  // Which ranks have a tensor, and whether it is a slice on all of them.
  struct Holders {
    std::vector<int> ranks;
    torch::ScalarType type = torch::kFloat;
    bool slices = true;
  };

  const Place* find(const std::string& entry) const;
  int joined_on(const Place& place) const;
  std::map<std::string, Holders> holders_of(const std::map<std::string, torch::Tensor>& own) const;
  // Defined only on the rank that joins the tensor.
  torch::Tensor join(const Place& place, const Holders& holders, const torch::Tensor& own) const;

  World& world_;
  const ShardingOptions::Copy set_aside_;
  const int group_size_;  // the ranks of the first group together have everything
  std::map<std::string, Place> places_;
};

// Makes an object that keeps state for each slice save and load whole tensors.
class SlicedStateful final : public Stateful {
 public:
  SlicedStateful(Stateful& own, const SlicedStates& slices) : own_(own), slices_(slices) {}

  State save() const override { return slices_.join(own_.save()); }
  void load(const State& state) override { own_.load(slices_.slice(state)); }

 private:
  Stateful& own_;
  const SlicedStates& slices_;
};

}  // namespace runner
