#pragma once

#include "components/contract/state.hpp"
#include "components/losses/loss.hpp"
#include "components/metrics/accumulate.hpp"

namespace runner {

// The mean of the recipe's loss over a whole set, weighted as the loss defines it: by examples or tokens.
class MeanLoss {
 public:
  explicit MeanLoss(const Loss* loss) : loss_(loss) {}

  void reset() {
    sum_ = torch::Tensor{};
    weight_ = 0;
  }

  void add(const torch::Tensor& output, const Batch& batch) {
    const torch::NoGradGuard no_grad;
    // In double, so that the result does not depend on the batch size.
    add_to(sum_, loss_->sum(output, batch).to(torch::kFloat64));
    weight_ += loss_->weight(batch);
  }

  State state() const {
    if (!sum_.defined()) return {};
    return {.tensors = {{"sum", sum_}}, .numbers = {{"weight", weight_}}};
  }

  void merge(const State& other) {
    if (other.empty()) return;
    StateReader saved(other);
    add_to(sum_, saved.tensor("sum"));
    weight_ += saved.number("weight");
    saved.finish();
  }

  double mean() const { return weight_ > 0 ? sum_.item<double>() / weight_ : 0.0; }

 private:
  const Loss* loss_;
  torch::Tensor sum_;  // undefined before the first batch
  double weight_ = 0;
};

}  // namespace runner
