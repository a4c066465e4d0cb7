#include "components/models/data_fit.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "components/torch/shape_text.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

[[noreturn]] void fail(std::string_view model, const std::string& why) {
  throw std::runtime_error("Model " + in_quotes(model) + ": " + why + ".");
}

// What kind of inputs a dataset has, for messages.
std::string inputs_text(const DataSpec& data) {
  if (data.vocabulary > 0) return "tokens";
  if (data.images) return "images";
  if (!data.categories.empty()) return "rows of a table";
  if (!torch::isFloatingType(data.input_type))
    return "whole numbers (" + std::string(torch::toString(data.input_type)) + ")";
  return "examples of shape " + shape_text(data.input_shape);
}

void require_numbers(std::string_view model, const DataSpec& data,
                     std::string_view needed = "floating-point numbers") {
  if (!torch::isFloatingType(data.input_type))
    fail(model, "the dataset gives " + inputs_text(data) + "; this model needs " + std::string(needed) +
                    (data.vocabulary > 0 ? "" : "; save the inputs as float32"));
  if (data.input_shape.empty() ||
      std::ranges::any_of(data.input_shape, [](auto extent) { return extent < 1; })) {
    fail(model, "the dataset gives examples of shape " + shape_text(data.input_shape) +
                    ", which hold nothing to learn from");
  }
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

std::int64_t output_count(std::string_view model, std::int64_t wanted, const DataSpec& data) {
  if (data.classes > 0) {
    if (wanted != 0 && wanted != data.classes) {
      fail(model, "num_classes is " + std::to_string(wanted) + ", but the dataset has " +
                      std::to_string(data.classes) + " classes; remove num_classes to follow the dataset");
    }
    return data.classes;
  }
  if (torch::isFloatingType(data.target_type)) {
    const std::int64_t numbers = product(data.target_shape);
    if (wanted != 0 && wanted != numbers) {
      fail(model, "num_classes is " + std::to_string(wanted) + ", but the dataset's targets hold " +
                      std::to_string(numbers) + " numbers each");
    }
    return numbers;
  }
  if (wanted == 0) fail(model, "the dataset does not say how many classes it has: give num_classes");
  return wanted;
}

ImageShape image_shape(std::string_view model, const DataSpec& data) {
  require_numbers(model, data, "images");
  if (data.input_shape.size() != 3) {
    fail(model,
         "the dataset gives " + inputs_text(data) + "; this model needs images (channels, height, width)");
  }
  return {data.input_shape[0], data.input_shape[1], data.input_shape[2]};
}

void require_halvings(std::string_view model, const ImageShape& image, std::int64_t halvings) {
  const std::int64_t step = std::int64_t{1} << halvings;
  if (image.height % step == 0 && image.width % step == 0) return;
  fail(model, "images of " + std::to_string(image.height) + " x " + std::to_string(image.width) +
                  " cannot be halved " + std::to_string(halvings) + " times; resize them to multiples of " +
                  std::to_string(step));
}

std::int64_t flat_size(std::string_view model, const DataSpec& data) {
  require_numbers(model, data);
  return product(data.input_shape);
}

std::int64_t vocabulary_size(std::string_view model, std::int64_t wanted, const DataSpec& data) {
  if (data.vocabulary == 0 && (torch::isFloatingType(data.input_type) || wanted == 0)) {
    fail(model,
         "the dataset gives " + inputs_text(data) + "; this model needs tokens, as text datasets give them");
  }
  if (wanted != 0 && wanted < data.vocabulary) {
    fail(model, "vocabulary is " + std::to_string(wanted) + ", but the dataset has " +
                    std::to_string(data.vocabulary) + " tokens; remove vocabulary to follow the dataset");
  }
  return wanted != 0 ? wanted : data.vocabulary;
}

std::int64_t context_length(std::string_view model, std::int64_t wanted, const DataSpec& data) {
  if (data.input_shape.size() != 1) {
    fail(model,
         "it needs rows of tokens, but the dataset gives examples of shape " + shape_text(data.input_shape));
  }
  const std::int64_t longest = data.input_shape[0];
  if (wanted == 0 && longest < 1) fail(model, "the dataset's examples differ in length: give context");
  if (wanted != 0) require_positions(model, longest, wanted);
  return wanted != 0 ? wanted : longest;
}

void require_positions(std::string_view model, std::int64_t tokens, std::int64_t context) {
  if (tokens > context) {
    fail(model, std::to_string(tokens) + " tokens do not fit into a context of " + std::to_string(context));
  }
}

}  // namespace runner
