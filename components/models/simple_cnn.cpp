#include <torch/nn/modules/conv.h>

#include <stdexcept>

#include "components/layers/linear.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"

namespace runner {
namespace {

struct SimpleCnn {
  std::int64_t num_classes = 0;
};
constexpr auto describe(std::type_identity<SimpleCnn>) {
  return fields(field("num_classes", &SimpleCnn::num_classes,
                      "Outputs; 0: as many as the dataset has classes.", within(0, 1 << 20)));
}

// Twice (3x3 convolution, ReLU, halve by max pooling), then 256 hidden units.
class SimpleCnnModel : public Model {
 public:
  SimpleCnnModel(const ImageShape& image, std::int64_t outputs)
      : conv1(register_module("conv1", convolution(image.channels, 16))),
        conv2(register_module("conv2", convolution(16, 32))),
        fc1(register_module("fc1", Linear(32 * (image.height / 4) * (image.width / 4), 256))),
        fc2(register_module("fc2", Linear(256, outputs))) {}

  torch::Tensor forward(const Batch& batch) override {
    auto x = torch::max_pool2d(torch::relu(conv1(batch.input)), 2);
    x = torch::max_pool2d(torch::relu(conv2(x)), 2);
    return fc2(torch::relu(fc1(x.flatten(1))));
  }

  bool prefers_channels_last() const override { return true; }

 private:
  static torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1));
  }

  torch::nn::Conv2d conv1, conv2;
  Linear fc1, fc2;
};

ModelFacts facts(const SimpleCnn&) { return {.tasks = {Task::images}}; }

std::unique_ptr<Model> build(const SimpleCnn& settings, const ModelInputs& inputs) {
  const ImageShape image = image_shape("simple_cnn", inputs.data);
  if (image.height < 4 || image.width < 4) {
    throw std::runtime_error(
        "Model \"simple_cnn\": images of " + std::to_string(image.height) + " x " +
        std::to_string(image.width) +
        " are too small: nothing is left after the second pooling; the smallest size is 4 x 4.");
  }
  return std::make_unique<SimpleCnnModel>(image,
                                          output_count("simple_cnn", settings.num_classes, inputs.data));
}

const Registration<ModelKind> registration{
    "simple_cnn", "Two 3x3 convolutions with pooling and two linear layers: conv1, conv2, fc1, fc2.", &build};

}  // namespace
}  // namespace runner
