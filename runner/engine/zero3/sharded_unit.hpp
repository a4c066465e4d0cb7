#pragma once

#include <torch/types.h>

#include <functional>
#include <optional>
#include <vector>

#include "components/contract/weights.hpp"
#include "runner/engine/world.hpp"
#include "runner/engine/zero3/gathered_copy.hpp"
#include "runner/engine/zero3/parameter_values.hpp"
#include "runner/engine/zero3/unit_layout.hpp"

namespace runner {

struct UnitOptions {
  // The first `cast_count` parameters are gathered in `cast_type`, to which autocast casts them for every
  // operator that multiplies with them.
  std::size_t cast_count = 0;
  torch::ScalarType cast_type = torch::kFloat;
  // Copies the part that a rank keeps to where it is stored. None: where the parameters are.
  std::function<torch::Tensor(const torch::Tensor& values)> keep = {};
};

// Parameters that are gathered and released together. Each rank keeps its part, and an optimizer gets slices
// of that part, one for each parameter. The model's tensors are views of the gathered copies.
class ShardedUnit {
 public:
  // `all` is for passes of the model: parameters as they are, or cast for autocast. Code that reads one of
  // the latter without autocast needs `uncast`, which exists only if parameters are cast.
  enum Copy : std::size_t { all, uncast };

  // Takes the parameters over: afterwards they can be read only while the unit is gathered. `ranks`: those
  // that share one copy; `values`: the initial values, of which it takes those of this unit.
  ShardedUnit(World& world, World& ranks, std::vector<NamedTensor> parameters, const std::vector<int>& owners,
              ParameterValues& values, const UnitOptions& options = {});
  ShardedUnit(const ShardedUnit&) = delete;
  ShardedUnit& operator=(const ShardedUnit&) = delete;

  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  const std::vector<torch::Tensor>& slices() const { return slices_; }  // leaf tensors, in the same order
  const UnitLayout& layout() const { return layout_; }
  // The part of a tensor of the parameter's shape that corresponds to this rank's slice.
  torch::Tensor own_slice(const torch::Tensor& whole, std::size_t parameter) const;
  std::int64_t bytes() const { return layout_.size() * static_cast<std::int64_t>(kept_.element_size()); }

  const std::vector<GatheredCopy>& copies() const { return copies_; }
  void begin_gather(Copy copy) { copies_[copy].begin_gather(kept_); }
  void finish_gather(Copy copy) { copies_[copy].finish_gather(); }
  void release(Copy copy) { copies_[copy].release(); }
  void help_gather(Copy copy) const { copies_[copy].help_gather(kept_); }
  // Copies what was written into the gathered parameters to the part that this rank keeps.
  void keep_changes(Copy copy) { copies_[copy].copy_changes_to(kept_); }
  // The storage of the cast parameters, which are laid out as in `uncast`. Only if there are any.
  c10::Storage cast_storage() const { return copies_[all].parameter(0).storage(); }
  // All parameters, whole and uncast, as one flat tensor; every rank takes part.
  torch::Tensor gather_weights() const;

  // Gradients of this rank are collected in a flat tensor until they are summed over the ranks.
  void begin_backward();
  void take_gradient(std::size_t parameter);
  bool all_gradients_taken() const { return missing_ == 0; }
  bool has_unsent_gradients() const { return gradient_.defined(); }
  // Every rank takes part, with the gradients it has; the sum is added to the gradients that this rank keeps.
  // `wire`: the number format for sending; none: their own.
  void begin_reduce(const std::optional<torch::ScalarType>& wire);
  void finish_reduce();
  // Whether this rank had a gradient for the parameter since drop_gradients().
  bool seen_here(std::size_t parameter) const { return seen_here_[parameter]; }
  // Gives the slices their kept gradients, for parameters for which `present` is true.
  void give_gradients(std::vector<bool> present);
  bool has_gradient(std::size_t parameter) const { return present_anywhere_[parameter]; }
  void drop_gradients();
  // All gradients, whole; every rank takes part.
  torch::Tensor gather_gradients() const;
  // The gradients that this rank keeps. Undefined if there are none, which is then true on all ranks.
  const torch::Tensor& kept_gradients() const { return kept_gradient_; }

 private:
  void make_copies(const UnitOptions& options);
  void take_over(World& world, ParameterValues& values, const UnitOptions& options);
  torch::Tensor gather(const torch::Tensor& part, const char* what) const;

  World& ranks_;
  std::vector<NamedTensor> parameters_;
  const UnitLayout layout_;
  const torch::TensorOptions of_parameters_;  // device and type
  torch::Tensor kept_;                        // this rank's part
  std::vector<torch::Tensor> slices_;
  std::vector<GatheredCopy> copies_;  // by Copy

  torch::Tensor gradient_;       // flat, of this rank
  torch::Tensor kept_gradient_;  // this rank's part of the sum
  std::vector<bool> expected_;   // for each parameter: its gradient is still to come in this backward
  std::int64_t missing_ = 0;     // how many are expected
  std::vector<bool> seen_here_, present_anywhere_;  // since drop_gradients(); set by give_gradients()
  torch::Tensor on_wire_, received_;
  std::vector<Work> reducing_;
};

}  // namespace runner
