#pragma once

#include "components/batch.hpp"

namespace runner {

// The right class of each example, in the shape of the outputs without the class dimension. Targets that are
// shares of classes (from mixup) count as the class with the largest share.
torch::Tensor labels_of(const torch::Tensor& target, const torch::Tensor& output);

// How many of how many, summed where the tensors are: nothing waits for the device until share() is asked.
class HitCounts {
 public:
  void add(const torch::Tensor& hit, const torch::Tensor& counted);  // booleans of one shape
  double share() const;                                              // 0 where nothing was counted

 private:
  torch::Tensor hits_;  // undefined before the first batch
  torch::Tensor total_;
};

}  // namespace runner
