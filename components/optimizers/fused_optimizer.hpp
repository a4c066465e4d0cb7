#pragma once

#include <string>
#include <vector>

#include "components/optimizers/optimizer.hpp"

namespace runner {

// Base of the optimizers that update whole lists of parameters at once with LibTorch's fused or foreach
// kernels: groups, per-parameter state, and the lists for one kernel call. The parameters must already be on
// the device where they are trained.
class FusedOptimizer : public Optimizer {
 public:
  // `slots`: the names of the state tensors of each parameter; make_slot() creates them.
  FusedOptimizer(std::vector<ParameterGroup> groups, std::vector<std::string> slots, double lr,
                 double weight_decay);

  double peak_lr() const override { return peak_lr_; }
  void step(double lr_factor) override;

  State save() const override;
  void load(const State& state) override;

 protected:
  // Parameters that one kernel call updates: of the same group, device and type, and with the same number of
  // updates so far.
  struct Lists {
    std::vector<torch::Tensor> parameters = {};
    std::vector<torch::Tensor> gradients = {};           // only while update() runs
    std::vector<std::vector<torch::Tensor>> slots = {};  // by slot, then by parameter
    std::int64_t updates = 0;                            // before this one
  };

  virtual void update(const Lists& lists, double lr, double weight_decay) = 0;
  // The state before the first update; by default zeros in the parameter's shape. Undefined: this parameter
  // has no such state.
  virtual torch::Tensor make_slot(std::size_t slot, const torch::Tensor& parameter) const;

  // The same memory, with each tensor flattened. LibTorch's fused kernels copy tensors that are not
  // contiguous, such as channels_last ones, although they only need all of them to have the same layout.
  static Lists in_rows(const Lists& lists);
  // The gradients plus weight decay, as new tensors; if there is no decay, the gradients themselves.
  static std::vector<torch::Tensor> decayed_gradients(const Lists& lists, double weight_decay);

 private:
  struct Member {
    std::string name;
    torch::Tensor parameter;
    std::vector<torch::Tensor> slots = {};  // empty until the first update
    std::int64_t updates = 0;
    bool active = false;  // had a gradient when the lists were made
  };

  // The members of a group that share device and type.
  struct Bucket {
    double lr_multiplier = 1.0;
    double weight_decay = 0.0;
    std::vector<Member> members = {};
    std::vector<Lists> lists = {};
    std::vector<std::vector<std::size_t>> listed = {};  // indices of the members in each of `lists`
  };

  void refresh_lists(Bucket& bucket) const;
  void make_slots(Member& member) const;

  double peak_lr_;
  std::vector<std::string> slots_;
  std::vector<Bucket> buckets_;
};

}  // namespace runner
