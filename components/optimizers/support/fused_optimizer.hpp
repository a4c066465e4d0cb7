#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "components/optimizers/optimizer.hpp"

namespace runner {

// What optimizers share that update whole lists of parameters at once, on LibTorch's fused or foreach
// kernels: groups, per-parameter state, and the lists that one kernel call takes. Parameters are where they
// will be trained by the time it is made.
class FusedOptimizer : public Optimizer {
 public:
  // `slots`: the names of the state tensors each parameter has; make_slot() says what they are at first.
  FusedOptimizer(std::vector<ParameterGroup> groups, std::vector<std::string> slots, double lr,
                 double weight_decay);

  double peak_lr() const override { return peak_lr_; }
  void step(double lr_factor) override;

  State save() const override;
  void load(const State& state) override;

 protected:
  // Parameters that one kernel call updates: one group, one device, one type, the same number of updates done
  // by them.
  struct Lists {
    std::vector<torch::Tensor> parameters = {};
    std::vector<torch::Tensor> gradients = {};           // only while update() runs
    std::vector<std::vector<torch::Tensor>> slots = {};  // by slot, then by parameter
    std::int64_t updates = 0;                            // before this one
  };

  virtual void update(const Lists& lists, double lr, double weight_decay) = 0;
  // The state before the first update: zeros in the parameter's shape. Undefined: this parameter has no such
  // state.
  virtual torch::Tensor make_slot(std::size_t slot, const torch::Tensor& parameter) const;

  // The same memory, each tensor as one row. LibTorch's fused kernels copy what is not contiguous first, as
  // tensors in channels_last are, although they only need all to lie alike.
  static Lists in_rows(const Lists& lists);
  // Gradients with the weight decay in them; the gradients themselves stay as they are.
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
    std::vector<std::vector<std::size_t>> listed = {};  // which members, for each of `lists`
  };

  void refresh_lists(Bucket& bucket) const;
  void make_slots(Member& member) const;

  double peak_lr_;
  std::vector<std::string> slots_;
  std::vector<Bucket> buckets_;
};

}  // namespace runner
