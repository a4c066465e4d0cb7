#include <torch/nn/init.h>

#include "components/layers/linear.hpp"
#include "components/layers/residual_blocks.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"

namespace runner {
namespace {

struct WideResnet {
  std::int64_t depth = 28;
  std::int64_t widen = 10;
  double dropout = 0.0;
  std::int64_t num_classes = 0;
};
constexpr auto describe(std::type_identity<WideResnet>) {
  return fields(field("depth", &WideResnet::depth, "Number of convolutions: 6n + 4, such as 16, 22, 28, 40.",
                      within(10, 1 << 20)),
                field("widen", &WideResnet::widen, "Factor on the widths 16, 32 and 64 of the three stages.",
                      within(1, 1 << 20)),
                field("dropout", &WideResnet::dropout, "Dropout between the convolutions of a block.",
                      within(0, 1), changes_course()),
                field("num_classes", &WideResnet::num_classes,
                      "Outputs; 0: as many as the dataset has classes.", within(0, 1 << 20)));
}
void check(const WideResnet& net, Report& report) {
  if (net.depth % 6 != 4) report.error("depth", "must be 6n + 4, such as 16, 22, 28 or 40");
}

// Normalisation and activation come before each convolution.
class WideBlock : public torch::nn::Module {
 public:
  WideBlock(std::int64_t in, std::int64_t out, std::int64_t stride, double dropout)
      : dropout_(dropout),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(in))),
        conv1(register_module("conv1", convolution(in, out, 3, stride))),
        bn2(register_module("bn2", torch::nn::BatchNorm2d(out))),
        conv2(register_module("conv2", convolution(out, out, 3, 1))) {
    if (in != out || stride != 1) {
      shortcut = register_module(
          "convShortcut", torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 1).stride(stride).bias(false)));
    }
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const auto ready = bn1(x).relu_();
    auto y = bn2(conv1(ready)).relu_();
    y = conv2(torch::dropout(y, dropout_, is_training()));
    return y.add_(shortcut ? shortcut(ready) : x);
  }

 private:
  double dropout_;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn2;
  torch::nn::Conv2d conv2;
  torch::nn::Conv2d shortcut{nullptr};
};

// Zagoruyko and Komodakis 2016, https://arxiv.org/abs/1605.07146, for small images. Names and initialisation
// as in xternalz/WideResNet-pytorch.
class WideResnetModel : public Model {
 public:
  WideResnetModel(const WideResnet& net, std::int64_t channels, std::int64_t outputs)
      : conv1(register_module("conv1", convolution(channels, 16, 3, 1))) {
    std::int64_t in = 16;
    for (std::int64_t stage = 0; stage < 3; ++stage) {
      auto layers =
          register_module("block" + std::to_string(stage + 1), std::make_shared<torch::nn::Module>())
              ->register_module("layer", std::make_shared<torch::nn::Module>());
      const std::int64_t out = (std::int64_t{16} << stage) * net.widen;
      for (std::int64_t i = 0; i < (net.depth - 4) / 6; ++i) {
        const std::int64_t stride = i == 0 && stage > 0 ? 2 : 1;
        blocks_.push_back(layers->register_module(std::to_string(i),
                                                  std::make_shared<WideBlock>(in, out, stride, net.dropout)));
        in = out;
      }
    }
    bn1 = register_module("bn1", torch::nn::BatchNorm2d(in));
    fc = register_module("fc", Linear(in, outputs));
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* layer = module->as<torch::nn::Conv2d>())
        torch::nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut, torch::kReLU);
    }
    torch::nn::init::zeros_(fc->bias);
  }

  torch::Tensor forward(const Batch& batch) override {
    auto x = conv1(batch.input);
    for (const auto& block : blocks_) x = block->forward(x);
    return fc(torch::adaptive_avg_pool2d(bn1(x).relu_(), {1, 1}).flatten(1));
  }

  bool prefers_channels_last() const override { return true; }

 private:
  torch::nn::Conv2d conv1;
  std::vector<std::shared_ptr<WideBlock>> blocks_;
  torch::nn::BatchNorm2d bn1{nullptr};
  Linear fc{nullptr};
};

ModelFacts facts(const WideResnet&) { return {.tasks = {Task::images}}; }

std::unique_ptr<Model> build(const WideResnet& settings, const ModelInputs& inputs) {
  return std::make_unique<WideResnetModel>(settings, image_shape("wide_resnet", inputs.data).channels,
                                           output_count("wide_resnet", settings.num_classes, inputs.data));
}

const Registration<ModelKind> registration{
    "wide_resnet", "Wide residual network for small images, by default WRN-28-10.", &build};

}  // namespace
}  // namespace runner
