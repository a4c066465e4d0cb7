#include "components/losses/same_shape.hpp"

#include <stdexcept>

#include "registry/base/log.hpp"

namespace runner {

namespace {

// A label for each example, where the model has an output for each class.
std::string remedy(const torch::Tensor& output, const torch::Tensor& target) {
  if (target.is_floating_point() || output.dim() != target.dim() + 1) return "";
  return " Whole numbers are taken for classes, for which there is cross_entropy; save numbers to predict as "
         "floating-point numbers.";
}

}  // namespace

torch::Tensor target_like(const torch::Tensor& output, const torch::Tensor& target, std::string_view who,
                          std::string_view what) {
  torch::Tensor fitting = target.to(output.scalar_type());
  if (output.dim() == target.dim() + 1 && output.size(-1) == 1) fitting = fitting.unsqueeze(-1);
  if (fitting.sizes() != output.sizes()) {
    throw std::runtime_error(log::format(
        "{} compares outputs with {} of the same shape, but the model gives {} and the {} are {}.{}", who,
        what, output.sizes(), what, target.sizes(), remedy(output, target)));
  }
  return fitting;
}

}  // namespace runner
