#pragma once

#include <string_view>

#include "components/datasets/data_spec.hpp"

namespace runner {

// How a model's ends fit the data. All throw std::runtime_error that names the model, what it needs and what
// the data has.

// As many outputs as the data has classes (or numbers to predict); `wanted` is the model's num_classes, 0: as
// the data.
std::int64_t output_count(std::string_view model, std::int64_t wanted, const DataSpec& data);

struct ImageShape {
  std::int64_t channels, height, width;
};
ImageShape image_shape(std::string_view model, const DataSpec& data);

// The numbers in one example, whatever its shape.
std::int64_t flat_size(std::string_view model, const DataSpec& data);

}  // namespace runner
