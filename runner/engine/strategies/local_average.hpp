#pragma once

#include <cstdint>
#include <vector>

#include "components/contract/weights.hpp"
#include "components/optimizers/optimizer.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// local_sgd: every rank updates its own weights, and every few updates all ranks take their average,
// weighted by what each was trained on since the last average. Plain SGD with an average after every update
// equals ddp. The optimizer's state is averaged too, as in Yu et al., "On the Linear Speedup Analysis of
// Communication Efficient Momentum SGD", 2019, so after an average the ranks are equal in everything.
class LocalAverage {
 public:
  LocalAverage(World& world, std::int64_t every, std::int64_t bytes_at_once)
      : world_(world), every_(every), bytes_at_once_(bytes_at_once) {}

  // This rank has made an update from examples of this weight, or has skipped one (0).
  void passed(double weight);
  bool due() const { return windows_ >= every_; }
  bool ranks_are_equal() const { return windows_ == 0; }

  // Every rank takes part. Does nothing if the ranks are equal.
  void average(const std::vector<NamedTensor>& parameters, const std::vector<NamedTensor>& buffers,
               Optimizer& optimizer);

 private:
  void average(const std::vector<torch::Tensor>& tensors, double share, const char* what) const;
  void average(Optimizer& optimizer, double share) const;

  World& world_;
  const std::int64_t every_, bytes_at_once_;
  std::int64_t windows_ = 0;  // since the last average
  double weight_ = 0;         // of the examples in them
};

}  // namespace runner
