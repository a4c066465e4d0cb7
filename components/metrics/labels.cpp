#include "components/metrics/labels.hpp"

#include <stdexcept>

#include "registry/log.hpp"

namespace runner {

torch::Tensor labels_of(const torch::Tensor& target, const torch::Tensor& output) {
  std::vector<std::int64_t> expected = output.sizes().vec();
  if (output.dim() > 1 && target.is_floating_point() && target.sizes() == output.sizes())
    return target.argmax(1);
  if (expected.size() > 1) expected.erase(expected.begin() + 1);
  if (output.dim() < 2 || target.is_floating_point() || target.sizes() != at::IntArrayRef(expected)) {
    throw std::runtime_error(log::format(
        "The metric compares outputs [examples, classes, ..] with labels, but the outputs are {} and the "
        "targets {} of type {}.",
        output.sizes(), target.sizes(), target.dtype().name()));
  }
  return target;
}

void HitCounts::add(const torch::Tensor& hit, const torch::Tensor& counted) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor hits = hit.logical_and(counted).sum();
  const torch::Tensor total = counted.sum();
  hits_ = hits_.defined() ? hits_ + hits : hits;
  total_ = total_.defined() ? total_ + total : total;
}

double HitCounts::share() const {
  const double total = total_.defined() ? total_.item<double>() : 0;
  return total > 0 ? hits_.item<double>() / total : 0;
}

}  // namespace runner
