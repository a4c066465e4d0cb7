#include "components/datasets/dataset.hpp"

namespace runner {

Batch Split::allocate(std::int64_t examples, torch::MemoryFormat format) const {
  const DataSpec data = spec();
  const auto tensor = [examples](std::vector<std::int64_t> shape, torch::Dtype type,
                                 torch::MemoryFormat layout) {
    shape.insert(shape.begin(), examples);
    if (shape.size() != 4) layout = torch::MemoryFormat::Contiguous;  // only images have another one
    return torch::empty(shape, torch::TensorOptions(type).memory_format(layout));
  };
  return {tensor(data.input_shape, data.input_type, format),
          tensor(data.target_shape, data.target_type, torch::MemoryFormat::Contiguous)};
}

}  // namespace runner
