#include "components/layers/linear.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"

namespace runner {
namespace {

enum class Activation { relu, gelu, silu, tanh, sigmoid };
constexpr auto describe(std::type_identity<Activation>) {
  return choices(choice("relu", Activation::relu), choice("gelu", Activation::gelu, "exact, with erf"),
                 choice("silu", Activation::silu), choice("tanh", Activation::tanh),
                 choice("sigmoid", Activation::sigmoid));
}

struct Mlp {
  std::vector<std::int64_t> hidden = {256, 128};
  Activation activation = Activation::relu;
  double dropout = 0.0;
  std::int64_t num_classes = 0;
};
constexpr auto describe(std::type_identity<Mlp>) {
  return fields(
      field("hidden", &Mlp::hidden, "Width of each hidden layer; none: a linear model.", within(1, 1 << 20)),
      field("activation", &Mlp::activation, "Applied after each hidden layer.", changes_course()),
      field("dropout", &Mlp::dropout, "Dropout after each hidden layer.", within(0, 1), changes_course()),
      field("num_classes", &Mlp::num_classes, "Outputs; 0: as many as the dataset has classes.",
            within(0, 1 << 20)));
}

torch::Tensor activate(Activation activation, const torch::Tensor& x) {
  switch (activation) {
    case Activation::relu: return torch::relu(x);
    case Activation::gelu: return torch::gelu(x);
    case Activation::silu: return torch::silu(x);
    case Activation::tanh: return torch::tanh(x);
    case Activation::sigmoid: return torch::sigmoid(x);
  }
  return x;
}

// The layers are fc1, fc2 .. in order, the last one the head: names do not depend on activation or dropout.
class MlpModel : public Model {
 public:
  MlpModel(const Mlp& settings, std::int64_t inputs, std::int64_t outputs)
      : activation_(settings.activation), dropout_(settings.dropout) {
    std::vector<std::int64_t> widths = settings.hidden;
    widths.push_back(outputs);
    for (const std::int64_t width : widths) {
      const std::string name = "fc" + std::to_string(layers_.size() + 1);
      layers_.push_back(register_module(name, Linear(inputs, width)));
      inputs = width;
    }
  }

  torch::Tensor forward(const Batch& batch) override {
    auto x = batch.input.flatten(1);
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
      x = activate(activation_, layers_[i](x));
      if (dropout_ > 0) x = torch::dropout(x, dropout_, is_training());
    }
    return layers_.back()(x);
  }

 private:
  std::vector<Linear> layers_;
  Activation activation_;
  double dropout_;
};

ModelFacts facts(const Mlp&) {
  return {.tasks = {Task::images, Task::table, Task::numbers},
          .dataset_settings = {{"categories", "one_hot"}}};
}

std::unique_ptr<Model> build(const Mlp& settings, const ModelInputs& inputs) {
  if (!inputs.data.categories.empty()) {
    throw std::runtime_error(
        "Model \"mlp\": it cannot read the dataset's categorical columns; use the model tabular, or set "
        "dataset.categories = \"one_hot\".");
  }
  return std::make_unique<MlpModel>(settings, flat_size("mlp", inputs.data),
                                    output_count("mlp", settings.num_classes, inputs.data));
}

const Registration<ModelKind> registration{
    "mlp", "Fully connected layers fc1, fc2 .. on the flattened input.", &build};

}  // namespace
}  // namespace runner
