#include "components/metrics/support/errors.hpp"

#include "components/losses/support/same_shape.hpp"

namespace runner {

void Errors::reset() { *this = Errors(metric_); }

void Errors::add(const torch::Tensor& output, const torch::Tensor& target) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor values = output.to(torch::kFloat64);
  const torch::Tensor right = target_like(values, target, metric_);
  const torch::Tensor difference = values - right;
  const auto added = static_cast<double>(output.size(0));
  const torch::Tensor mean = right.mean(0);
  const torch::Tensor deviation = (right - mean).square().sum(0);
  if (!mean_.defined()) {
    absolute_ = difference.abs().sum(0);
    squared_ = difference.square().sum(0);
    deviation_ = deviation;
    mean_ = mean;
  } else {
    absolute_ = absolute_ + difference.abs().sum(0);
    squared_ = squared_ + difference.square().sum(0);
    // Chan, Golub and LeVeque 1983: two sets' deviations combined without the cancellation of sums of
    // squares.
    const torch::Tensor apart = mean - mean_;
    deviation_ = deviation_ + deviation + apart.square() * (examples_ * added / (examples_ + added));
    mean_ = mean_ + apart * (added / (examples_ + added));
  }
  examples_ += added;
}

}  // namespace runner
