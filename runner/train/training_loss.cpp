#include "runner/train/training_loss.hpp"

#include <torch/utils.h>

namespace runner {

void TrainingLoss::add(const WindowLoss& loss) {
  constexpr std::size_t most_unread = 256;
  unread_.push_back(loss);
  if (unread_.size() == most_unread) read();
}

std::optional<double> TrainingLoss::take() {
  read();
  if (count_ == 0) return std::nullopt;
  const double mean = sum_ / static_cast<double>(count_);
  sum_ = 0;
  count_ = 0;
  return mean;
}

State TrainingLoss::save() const {
  read();
  return {.integers = {{"count", count_}}, .numbers = {{"sum", sum_}}};
}

void TrainingLoss::load(const State& state) {
  StateReader saved(state);
  count_ = saved.integer("count");
  sum_ = saved.number("sum");
  unread_.clear();
  saved.finish();
}

void TrainingLoss::read() const {
  if (unread_.empty()) return;
  std::vector<torch::Tensor> sums;
  sums.reserve(unread_.size());
  for (const WindowLoss& loss : unread_) sums.push_back(loss.sum);
  const torch::Tensor on_cpu = torch::stack(sums).to(torch::kCPU, torch::kFloat64);
  for (std::size_t i = 0; i < unread_.size(); ++i) sum_ += on_cpu.data_ptr<double>()[i] / unread_[i].weight;
  count_ += static_cast<std::int64_t>(unread_.size());
  unread_.clear();
}

}  // namespace runner
