#include "runner/inspect/inspection.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <stdexcept>

#include "runner/inspect/operator_trace.hpp"
#include "runner/parts.hpp"

namespace runner {

namespace {

constexpr std::int64_t examples = 2;  // batch normalisation refuses to train on one

std::string shape_text(const torch::Tensor& tensor) {
  std::string out = "[";
  for (const std::int64_t size : tensor.sizes()) out += (out.size() > 1 ? ", " : "") + std::to_string(size);
  return out + "]";
}

// The first sentence: LibTorch appends where in its own sources it happened.
std::string first_line(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

void count(const Model& model, Inspection& result) {
  for (const torch::Tensor& parameter : model.parameters()) {
    result.parameters += parameter.numel();
    if (parameter.requires_grad()) result.trained_parameters += parameter.numel();
    result.weight_bytes += static_cast<std::int64_t>(parameter.nbytes());
  }
  for (const torch::Tensor& buffer : model.buffers())
    result.weight_bytes += static_cast<std::int64_t>(buffer.nbytes());
}

}  // namespace

Blueprint draw_blueprint(const Recipe& recipe) {
  const auto dataset = build_dataset(recipe);
  const DataSpec raw = dataset->spec();
  const DataSpec data = after(build_pipeline(recipe.dataset.common.transform, raw), raw, /*training=*/true);
  if (std::ranges::any_of(data.input_shape, [](std::int64_t size) { return size < 0; })) {
    throw std::runtime_error(
        "the examples differ in size, so no batch can hold them; add a transform such as resize");
  }
  return {data, build_bare_model(recipe, data), recipe.loss.build({data})};
}

Batch zero_batch(const DataSpec& data, std::int64_t count) {
  const auto zeros = [&](std::vector<std::int64_t> shape, torch::Dtype type) {
    shape.insert(shape.begin(), count);
    return torch::zeros(shape, type);
  };
  Batch batch{zeros(data.input_shape, data.input_type), zeros(data.target_shape, data.target_type)};
  if (!data.categories.empty()) {
    batch.extra["categories"] = zeros({static_cast<std::int64_t>(data.categories.size())}, torch::kInt64);
  }
  return batch;
}

Inspection inspect(Model& model, const Loss& loss, const DataSpec& data) {
  Inspection result;
  count(model, result);
  const Batch batch = zero_batch(data, examples);
  const bool was_training = model.is_training();
  model.train();
  // Normalisation layers would learn from the zeros.
  std::vector<std::pair<torch::Tensor, torch::Tensor>> buffers;
  for (const torch::Tensor& buffer : model.buffers()) buffers.emplace_back(buffer, buffer.clone());
  const auto restore = [&] {
    torch::NoGradGuard no_grad;
    for (auto& [buffer, copy] : buffers) buffer.copy_(copy);
    model.train(was_training);
  };
  OperatorTrace trace(model);
  torch::Tensor output;
  try {
    output = model.forward(batch);
  } catch (const c10::Error& error) {
    restore();
    const std::string layer =
        trace.last_layer().empty() ? "" : ", at the latest in or after layer \"" + trace.last_layer() + "\"";
    throw std::runtime_error("an example of shape " + shape_text(batch.input[0]) + " does not fit the model" +
                             layer + ": " + first_line(error));
  }
  result.forward_flops_per_sample = trace.flops() / examples;
  result.activation_bytes_per_sample = trace.held_bytes() / examples;
  restore();
  try {
    loss.sum(output, batch);
  } catch (const c10::Error& error) {
    throw std::runtime_error("the model gives " + shape_text(output) + " for targets of shape " +
                             shape_text(batch.target) +
                             ", which the loss does not take: " + first_line(error));
  }
  return result;
}

}  // namespace runner
