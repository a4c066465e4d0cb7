#pragma once

#include <torch/types.h>

#include <optional>
#include <vector>

#include "components/contract/weights.hpp"
#include "runner/engine/parameter_values.hpp"
#include "runner/engine/unit_layout.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Parameters that are gathered and released together. The model's tensors are views of one flat tensor, whose
// memory comes and goes: so does the memory of whatever autograd has kept of them. Each rank keeps its part,
// and an optimizer gets slices of that part, one for each parameter.
class ShardedUnit {
 public:
  static constexpr auto not_gathered =
      "These weights are sharded across ranks and not gathered now. Read them through Engine::weights().";

  // Takes the parameters over: afterwards they can be read only while the unit is gathered. `ranks`: those
  // that have one copy among them; `values`: what their first values are, from which it takes its own.
  ShardedUnit(World& world, World& ranks, std::vector<NamedTensor> parameters, const std::vector<int>& owners,
              ParameterValues& values);

  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  const std::vector<torch::Tensor>& slices() const { return slices_; }  // leaves, of the same order
  const UnitLayout& layout() const { return layout_; }
  // Of any tensor of the parameter's shape, what belongs to this rank's slice.
  torch::Tensor own_slice(const torch::Tensor& whole, std::size_t parameter) const;
  const c10::StorageImpl* storage() const { return flat_.storage().unsafeGetStorageImpl(); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(flat_.nbytes()); }       // gathered
  std::int64_t kept_bytes() const { return static_cast<std::int64_t>(kept_.nbytes()); }  // always

  // Every rank takes part in gathering; it is under way until finish_gather().
  bool gathered() const { return gathered_; }  // or under way
  void begin_gather();
  void finish_gather();
  void release();
  // For other ranks: this one has it already, or does not need it.
  void help_gather() const;
  // Something has been written into the gathered parameters.
  void keep_changes();

  // Gradients of this rank wait in a flat tensor until they are summed over the ranks.
  void begin_backward();
  void take_gradient(std::size_t parameter);
  bool all_gradients_taken() const { return missing_ == 0; }
  bool has_unsent_gradients() const { return gradient_.defined(); }
  // Every rank takes part, with what it has; the sum is added to what this rank keeps. `wire`: the number
  // format on the way, where it is not their own.
  void begin_reduce(const std::optional<torch::ScalarType>& wire);
  void finish_reduce();
  // Whether this rank had a gradient for the parameter since drop_gradients().
  bool seen_here(std::size_t parameter) const { return seen_here_[parameter]; }
  // The slices get the gradients that are kept, those of which `present` is true.
  void give_gradients(std::vector<bool> present);
  bool has_gradient(std::size_t parameter) const { return present_anywhere_[parameter]; }
  void drop_gradients();
  // All gradients, whole; every rank takes part.
  torch::Tensor gather_gradients() const;
  // The gradients that this rank keeps; undefined where there are none, and then on all ranks.
  const torch::Tensor& kept_gradients() const { return kept_gradient_; }

 private:
  World& ranks_;
  std::vector<NamedTensor> parameters_;
  const UnitLayout layout_;
  torch::Tensor flat_;  // all parameters; without memory while they are not gathered
  torch::Tensor kept_;  // this rank's part
  std::vector<torch::Tensor> slices_;
  bool gathered_ = false;
  std::vector<Work> gathering_;

  torch::Tensor gradient_;       // flat, of this rank
  torch::Tensor kept_gradient_;  // this rank's part of the sum
  std::vector<bool> expected_;   // of each parameter: its gradient is still to come in this backward
  std::int64_t missing_ = 0;     // how many
  std::vector<bool> seen_here_, present_anywhere_;  // since drop_gradients(); after give_gradients()
  torch::Tensor on_wire_, received_;
  std::vector<Work> reducing_;
};

}  // namespace runner
