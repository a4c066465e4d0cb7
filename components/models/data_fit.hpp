#pragma once

#include <string_view>

#include "components/contract/data_spec.hpp"

namespace runner {

// The sizes of a model's inputs and outputs, for given data. All throw std::runtime_error, which names the
// model, what it needs and what the data has, if they do not fit.

// As many outputs as the data has classes (or numbers to predict). `wanted` is the model's num_classes; 0: as
// many as the data has.
std::int64_t output_count(std::string_view model, std::int64_t wanted, const DataSpec& data);

struct ImageShape {
  std::int64_t channels, height, width;
};
ImageShape image_shape(std::string_view model, const DataSpec& data);
// Requires that an image can be halved this many times and doubled again to the same size.
void require_halvings(std::string_view model, const ImageShape& image, std::int64_t halvings);

// How many numbers one example has, whatever its shape.
std::int64_t flat_size(std::string_view model, const DataSpec& data);

// For models of tokens: the size of the vocabulary, at least that of the data, and the number of positions,
// at least that of the data's examples. `wanted` = 0: the same as the data.
std::int64_t vocabulary_size(std::string_view model, std::int64_t wanted, const DataSpec& data);
std::int64_t context_length(std::string_view model, std::int64_t wanted, const DataSpec& data);
// Throws if this many tokens do not fit into the context.
void require_positions(std::string_view model, std::int64_t tokens, std::int64_t context);

}  // namespace runner
