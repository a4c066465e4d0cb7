#include "components/torch/shape_text.hpp"

#include <vector>

#include "registry/base/wording.hpp"

namespace runner {

std::string shape_text(torch::IntArrayRef shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(std::to_string(size));
  return "[" + joined(sizes) + "]";
}

std::string form_text(const torch::Tensor& tensor) {
  return std::string(torch::toString(tensor.scalar_type())) + " " + shape_text(tensor.sizes());
}

}  // namespace runner
