#include "components/losses/elementwise.hpp"

#include "components/losses/class_targets.hpp"
#include "components/losses/same_shape.hpp"

namespace runner {

torch::Tensor ElementwiseLoss::sum(const torch::Tensor& output, const Batch& batch) const {
  const torch::Tensor values = at_least_32_bits(output);
  const auto what = with_ == ComparedWith::input ? "inputs" : "targets";
  return sum_(values, target_like(values, compared(batch), name_, what));
}

}  // namespace runner
