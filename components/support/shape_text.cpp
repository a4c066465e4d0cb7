#include "components/support/shape_text.hpp"

namespace runner {

std::string shape_text(torch::IntArrayRef shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

std::string form_text(const torch::Tensor& tensor) {
  return std::string(torch::toString(tensor.scalar_type())) + " " + shape_text(tensor.sizes());
}

}  // namespace runner
