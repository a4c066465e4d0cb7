#include "components/hooks/tensor_histogram.hpp"

#include <ATen/ops/histc.h>
#include <torch/utils.h>

namespace runner {

Histogram histogram_of(const torch::Tensor& values, std::int64_t buckets) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor all = values.detach().to(torch::kFloat).flatten();
  const torch::Tensor finite = all.masked_select(all.isfinite());
  Histogram found;
  if (finite.numel() == 0) return found;
  // The difference of two floats may be too large for a float.
  const torch::Tensor exact = finite.to(torch::kDouble);
  const torch::Tensor facts =
      torch::stack({exact.min(), exact.max(), exact.sum(), exact.square().sum()}).cpu();
  found.min = facts[0].item<double>();
  found.max = facts[1].item<double>();
  found.count = static_cast<double>(finite.numel());
  found.sum = facts[2].item<double>();
  found.sum_of_squares = facts[3].item<double>();
  if (found.min == found.max) {
    found.limits = {found.max};
    found.counts = {found.count};
    return found;
  }
  const torch::Tensor counts = at::histc(exact, buckets, found.min, found.max).cpu();
  const double width = (found.max - found.min) / static_cast<double>(buckets);
  for (std::int64_t i = 0; i < buckets; ++i) {
    found.limits.push_back(found.min + width * static_cast<double>(i + 1));
    found.counts.push_back(counts[i].item<double>());
  }
  return found;
}

}  // namespace runner
