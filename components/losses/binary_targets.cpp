#include "components/losses/binary_targets.hpp"

#include <stdexcept>

#include "registry/base/log.hpp"

namespace runner {

void require_binary(const torch::Tensor& target, std::string_view loss) {
  if (target.numel() == 0 || !target.is_cpu()) return;  // reading from another device would wait for it
  const torch::Tensor outside = target.ge(0).logical_and(target.le(1)).logical_not();  // NaN is outside, too
  if (!outside.any().item<bool>()) return;
  throw std::runtime_error(log::format(
      "{} needs targets from 0 (no) to 1 (yes), but one is {}: for several classes of which one is right, "
      "use cross_entropy.",
      loss, target.masked_select(outside)[0].item<double>()));
}

torch::Tensor for_each_output(const std::vector<double>& numbers, const torch::Tensor& output,
                              std::string_view setting) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  const torch::Tensor values = torch::tensor(numbers, torch::kFloat64).to(output.options());
  if (count == 1) return values;
  if (output.dim() < 2 || output.size(1) != count) {
    throw std::runtime_error(
        log::format("{} has {} numbers, but the model gives {}: one number, or one for each "
                    "output.",
                    setting, count, output.sizes()));
  }
  std::vector<std::int64_t> shape(static_cast<std::size_t>(output.dim()), 1);
  shape[1] = count;
  return values.reshape(shape);
}

}  // namespace runner
