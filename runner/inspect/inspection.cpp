#include "runner/inspect/inspection.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include "components/models/weights/model_weights.hpp"
#include "components/torch/meta_mode.hpp"
#include "components/torch/shape_text.hpp"
#include "components/torch/torch_error.hpp"
#include "registry/base/wording.hpp"
#include "registry/recipe_error.hpp"
#include "runner/engine/runtime/out_of_memory.hpp"
#include "runner/engine/runtime/saved_tensors.hpp"
#include "runner/inspect/operator_trace.hpp"

namespace runner {

namespace {

constexpr std::int64_t examples = 2;  // batch normalisation refuses to train on one

// The loss reads values, so it gets real zeros in the shape of the model's output, unless that is too large.
void try_loss(const Loss& loss, torch::Tensor output, const Batch& batch, const Origin& place) {
  constexpr std::int64_t largest = std::int64_t{1} << 26;
  if (output.is_meta() && output.numel() > largest) return;
  if (output.is_meta()) output = torch::zeros(output.sizes(), output.scalar_type());
  try {
    loss.sum(output, batch);
  } catch (const c10::Error& error) {
    throw RecipeError(place, "the model gives " + shape_text(output.sizes()) + " for targets of shape " +
                                 shape_text(batch.target.sizes()) +
                                 ", which the loss does not take: " + reason_of(error));
  } catch (const std::runtime_error& error) {
    throw RecipeError(place, error.what());
  }
}

torch::Tensor pass(Model& model, const Batch& batch) {
  if (!on_meta(model)) return model.forward(batch);
  MetaMode meta;
  const OperatorModeScope scope(meta);
  Batch shapes{batch.input.to(torch::kMeta), batch.target.to(torch::kMeta)};
  for (const auto& [name, tensor] : batch.extra) shapes.extra[name] = tensor.to(torch::kMeta);
  return model.forward(shapes);
}

}  // namespace

bool on_meta(const Model& model) {
  const auto parameters = model.parameters();
  return !parameters.empty() && parameters.front().is_meta();
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

Inspection count_weights(const Model& model) {
  Inspection result;
  for (const auto& [name, parameter] : each_once(model.named_parameters())) {
    result.parameters += parameter.numel();
    if (parameter.requires_grad()) result.trained_parameters += parameter.numel();
    result.weight_bytes += static_cast<std::int64_t>(parameter.nbytes());
  }
  for (const auto& [name, buffer] : each_once(model.named_buffers()))
    result.weight_bytes += static_cast<std::int64_t>(buffer.nbytes());
  return result;
}

namespace {

// Puts the model into training mode and restores mode and buffers afterwards, because normalisation layers
// would learn from zeros.
class TrainingMode {
 public:
  explicit TrainingMode(Model& model) : model_(model), was_training_(model.is_training()) {
    for (const torch::Tensor& buffer : model.buffers()) buffers_.add(buffer);
    model.train();
  }
  ~TrainingMode() {
    buffers_.restore();
    model_.train(was_training_);
  }
  TrainingMode(const TrainingMode&) = delete;
  TrainingMode& operator=(const TrainingMode&) = delete;

 private:
  Model& model_;
  bool was_training_;
  SavedTensors buffers_;
};

}  // namespace

void pass_single_example(Model& model, const DataSpec& data) {
  const torch::NoGradGuard no_grad;
  const TrainingMode training(model);
  pass(model, zero_batch(data, 1));
}

Inspection inspect(Model& model, const Loss& loss, const DataSpec& data, const Places& places) {
  Inspection result = count_weights(model);
  const Batch batch = zero_batch(data, examples);
  const TrainingMode training(model);  // declared before the trace, which must not count what it frees
  OperatorTrace trace(model);
  torch::Tensor output;
  try {
    output = pass(model, batch);
  } catch (const c10::Error& error) {
    if (is_out_of_memory(error)) throw;
    if (on_meta(model) && dynamic_cast<const c10::NotImplementedError*>(&error)) {
      result.passed = false;
      result.obstacle = reason_of(error);
      return result;
    }
    const std::string layer = trace.last_layer().empty()
                                  ? ""
                                  : ", at the latest in or after layer " + in_quotes(trace.last_layer());
    throw RecipeError(places.model, "an example of shape " + shape_text(batch.input[0].sizes()) +
                                        " does not fit the model" + layer + ": " + reason_of(error));
  } catch (const std::runtime_error& error) {
    throw RecipeError(places.model, error.what());
  }
  result.forward_flops_per_example = trace.flops() / examples;
  result.activation_bytes_per_example = trace.held_bytes() / examples;
  result.output_shape = output.sizes().vec();
  result.output_type = output.scalar_type();
  try_loss(loss, output, batch, places.loss);
  return result;
}

}  // namespace runner
