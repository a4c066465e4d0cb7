#include "components/metrics/errors.hpp"

#include "components/losses/same_shape.hpp"

namespace runner {

void Errors::reset() {
  examples_ = 0;
  for (torch::Tensor* sum : {&absolute_, &squared_, &deviation_, &mean_}) sum->reset();
}

torch::Tensor Errors::in_units(const torch::Tensor& values) const {
  if (target_mean_ == 0 && target_deviation_ == 1) return values;
  return values * target_deviation_ + target_mean_;
}

void Errors::add(const torch::Tensor& output, const torch::Tensor& target) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor values = output.to(torch::kFloat64);
  const torch::Tensor right = in_units(target_like(values, target, metric_));
  const torch::Tensor difference = in_units(values) - right;
  const torch::Tensor mean = right.mean(0);
  combine(static_cast<double>(output.size(0)), difference.abs().sum(0), difference.square().sum(0),
          (right - mean).square().sum(0), mean);
}

void Errors::combine(double examples, const torch::Tensor& absolute, const torch::Tensor& squared,
                     const torch::Tensor& deviation, const torch::Tensor& mean) {
  if (!mean_.defined()) {
    absolute_ = absolute;
    squared_ = squared;
    deviation_ = deviation;
    mean_ = mean;
  } else {
    absolute_ = absolute_ + absolute;
    squared_ = squared_ + squared;
    // Chan, Golub and LeVeque 1983: combines the deviations of two sets without the cancellation that sums of
    // squares suffer from.
    const torch::Tensor apart = mean - mean_;
    deviation_ = deviation_ + deviation + apart.square() * (examples_ * examples / (examples_ + examples));
    mean_ = mean_ + apart * (examples / (examples_ + examples));
  }
  examples_ += examples;
}

State Errors::state() const {
  if (!mean_.defined()) return {};
  return {
      .tensors = {{"absolute", absolute_}, {"squared", squared_}, {"deviation", deviation_}, {"mean", mean_}},
      .numbers = {{"examples", examples_}}};
}

void Errors::merge(const State& other) {
  if (other.empty()) return;
  StateReader saved(other);
  const auto here = [&](const char* name) {
    const torch::Tensor& theirs = saved.tensor(name);
    return mean_.defined() ? theirs.to(mean_.device()) : theirs;
  };
  combine(saved.number("examples"), here("absolute"), here("squared"), here("deviation"), here("mean"));
  saved.finish();
}

}  // namespace runner
