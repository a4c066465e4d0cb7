// A model of your own: one hidden layer. `runner describe model my_model` shows what is described here.
#include <torch/nn/modules/linear.h>

#include "components/models/model.hpp"

namespace {

using namespace runner;

struct MyModel {  // the parameters, with their defaults
  std::int64_t width = 64;
};

constexpr auto describe(std::type_identity<MyModel>) {  // every one of them; forgetting one does not compile
  return fields(field("width", &MyModel::width, "Units of the hidden layer.", at_least(1)));
}

class MyModelNet final : public Model {
 public:
  MyModelNet(const MyModel& settings, const DataSpec& data) {
    std::int64_t inputs = 1;
    for (const std::int64_t size : data.input_shape) inputs *= size;
    hidden_ = register_module("hidden", torch::nn::Linear(inputs, settings.width));
    output_ = register_module("output", torch::nn::Linear(settings.width, data.classes));
  }

  torch::Tensor forward(const Batch& batch) override {
    return output_->forward(torch::relu(hidden_->forward(batch.input.flatten(1))));
  }

 private:
  torch::nn::Linear hidden_{nullptr}, output_{nullptr};
};

std::unique_ptr<Model> build(const MyModel& settings, const ModelInputs& inputs) {
  return std::make_unique<MyModelNet>(settings, inputs.data);
}

const Registration<ModelKind> registration{"my_model", "One hidden layer.", &build};

}  // namespace
