#pragma once

#include <string_view>

#include "components/contract/data_spec.hpp"

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
// That an image can be halved so often and doubled again to the same size.
void require_halvings(std::string_view model, const ImageShape& image, std::int64_t halvings);

// The numbers in one example, whatever its shape.
std::int64_t flat_size(std::string_view model, const DataSpec& data);

// For models of tokens: how many tokens there are, at least as many as the data has, and how many positions,
// at least as many as the data's examples have. 0: as the data.
std::int64_t vocabulary_size(std::string_view model, std::int64_t wanted, const DataSpec& data);
std::int64_t context_length(std::string_view model, std::int64_t wanted, const DataSpec& data);
// Throws where this many tokens do not fit into the context.
void require_positions(std::string_view model, std::int64_t tokens, std::int64_t context);

}  // namespace runner
