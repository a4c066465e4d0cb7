#pragma once

#include "components/losses/loss.hpp"

namespace runner {

// The recipe's loss over a whole set, by the loss's own weight: examples, or
// tokens.
class MeanLoss {
 public:
  explicit MeanLoss(const Loss* loss) : loss_(loss) {}

  void reset() {
    sum_ = torch::Tensor{};
    weight_ = 0;
  }

  void add(const torch::Tensor& output, const Batch& batch) {
    const torch::NoGradGuard no_grad;
    // In double: the result is then the same however the set was cut into
    // batches.
    const torch::Tensor sum = loss_->sum(output, batch).to(torch::kFloat64);
    sum_ = sum_.defined() ? sum_ + sum : sum;
    weight_ += loss_->weight(batch);
  }

  double mean() const { return weight_ > 0 ? sum_.item<double>() / weight_ : 0.0; }

 private:
  const Loss* loss_;   // none where only names are asked for
  torch::Tensor sum_;  // undefined before the first batch
  double weight_ = 0;
};

}  // namespace runner
