#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <algorithm>
#include <array>

#include "components/layers/linear.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"

namespace runner {
namespace {

enum class MobileStem { imagenet, cifar };
constexpr auto describe(std::type_identity<MobileStem>) {
  return choices(choice("imagenet", MobileStem::imagenet, "halves the image five times, as torchvision does"),
                 choice("cifar", MobileStem::cifar, "halves it three times: for images of 32 x 32"));
}

struct MobilenetV2 {
  double width = 1.0;
  MobileStem stem = MobileStem::imagenet;
  double dropout = 0.2;
  std::int64_t num_classes = 0;
};
constexpr auto describe(std::type_identity<MobilenetV2>) {
  return fields(
      field("width", &MobilenetV2::width, "Factor on the number of channels of every layer.", above(0),
            at_most(100)),
      field("stem", &MobilenetV2::stem, "How the first layers shrink the image.", changes_course()),
      field("dropout", &MobilenetV2::dropout, "Dropout before the head.", within(0, 1), changes_course()),
      field("num_classes", &MobilenetV2::num_classes, "Outputs; 0: as many as the dataset has classes.",
            within(0, 1 << 20)));
}

// Rounds to a multiple of 8, but not to less than 90% of the given number.
std::int64_t rounded(double channels) {
  const std::int64_t nearest = std::max<std::int64_t>(8, static_cast<std::int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(nearest) < 0.9 * channels ? nearest + 8 : nearest;
}

torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                              std::int64_t groups) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel)
                               .stride(stride)
                               .padding(kernel / 2)
                               .groups(groups)
                               .bias(false));
}

class ConvNormActivation : public torch::nn::Module {
 public:
  ConvNormActivation(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                     std::int64_t groups)
      : conv(register_module("0", convolution(in, out, kernel, stride, groups))),
        norm(register_module("1", torch::nn::BatchNorm2d(out))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    auto y = norm(conv(x));
    return torch::hardtanh_(y, 0, 6);
  }

 private:
  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d norm;
};

// Widen by 1x1, filter each channel by 3x3, narrow by 1x1 without activation.
class InvertedResidual : public torch::nn::Module {
 public:
  InvertedResidual(std::int64_t in, std::int64_t out, std::int64_t stride, std::int64_t factor)
      : adds_input_(stride == 1 && in == out) {
    auto layers = register_module("conv", std::make_shared<torch::nn::Module>());
    const std::int64_t inner = in * factor;
    const auto add = [&](std::int64_t from, std::int64_t kernel, std::int64_t step, std::int64_t groups) {
      steps_.push_back(
          layers->register_module(std::to_string(steps_.size()),
                                  std::make_shared<ConvNormActivation>(from, inner, kernel, step, groups)));
    };
    if (factor != 1) add(in, 1, 1, 1);
    add(inner, 3, stride, inner);
    narrow = layers->register_module(std::to_string(steps_.size()), convolution(inner, out, 1, 1, 1));
    norm = layers->register_module(std::to_string(steps_.size() + 1), torch::nn::BatchNorm2d(out));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    auto y = x;
    for (const auto& step : steps_) y = step->forward(y);
    y = norm(narrow(y));
    return adds_input_ ? y.add_(x) : y;
  }

 private:
  bool adds_input_;
  std::vector<std::shared_ptr<ConvNormActivation>> steps_;
  torch::nn::Conv2d narrow{nullptr};
  torch::nn::BatchNorm2d norm{nullptr};
};

struct Stage {
  std::int64_t factor, channels, blocks, stride;
};
constexpr std::array<Stage, 7> stages{{{1, 16, 1, 1},
                                       {6, 24, 2, 2},
                                       {6, 32, 3, 2},
                                       {6, 64, 4, 2},
                                       {6, 96, 3, 1},
                                       {6, 160, 3, 2},
                                       {6, 320, 1, 1}}};

// Sandler et al. 2018, https://arxiv.org/abs/1801.04381, with torchvision's names and initialisation.
class MobilenetV2Model : public Model {
 public:
  MobilenetV2Model(const MobilenetV2& settings, std::int64_t channels, std::int64_t outputs)
      : dropout_(settings.dropout) {
    const bool small = settings.stem == MobileStem::cifar;
    auto features = register_module("features", std::make_shared<torch::nn::Module>());
    std::int64_t in = rounded(32 * settings.width);
    first = features->register_module(
        "0", std::make_shared<ConvNormActivation>(channels, in, 3, small ? 1 : 2, 1));
    for (const Stage& stage : stages) {
      const std::int64_t out = rounded(static_cast<double>(stage.channels) * settings.width);
      const bool shrinks = !(small && stage.channels == 24);
      for (std::int64_t i = 0; i < stage.blocks; ++i) {
        blocks_.push_back(features->register_module(
            std::to_string(blocks_.size() + 1),
            std::make_shared<InvertedResidual>(in, out, i == 0 && shrinks ? stage.stride : 1, stage.factor)));
        in = out;
      }
    }
    const std::int64_t wide = rounded(1280 * std::max(1.0, settings.width));
    last = features->register_module(std::to_string(blocks_.size() + 1),
                                     std::make_shared<ConvNormActivation>(in, wide, 1, 1, 1));
    head = register_module("classifier", std::make_shared<torch::nn::Module>())
               ->register_module("1", Linear(wide, outputs));
    initialise();
  }

  torch::Tensor forward(const Batch& batch) override {
    auto x = first->forward(batch.input);
    for (const auto& block : blocks_) x = block->forward(x);
    x = torch::adaptive_avg_pool2d(last->forward(x), {1, 1}).flatten(1);
    return head(torch::dropout(x, dropout_, is_training()));
  }

  bool prefers_channels_last() const override { return true; }

 private:
  void initialise() {
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* layer = module->as<torch::nn::Conv2d>())
        torch::nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut);
    }
    torch::nn::init::normal_(head->weight, 0, 0.01);
    torch::nn::init::zeros_(head->bias);
  }

  double dropout_;
  std::shared_ptr<ConvNormActivation> first, last;
  std::vector<std::shared_ptr<InvertedResidual>> blocks_;
  Linear head{nullptr};
};

ModelFacts facts(const MobilenetV2&) { return {.tasks = {Task::images}}; }

std::unique_ptr<Model> build(const MobilenetV2& settings, const ModelInputs& inputs) {
  return std::make_unique<MobilenetV2Model>(settings, image_shape("mobilenet_v2", inputs.data).channels,
                                            output_count("mobilenet_v2", settings.num_classes, inputs.data));
}

const Registration<ModelKind> registration{
    "mobilenet_v2", "MobileNetV2: 3.5 million parameters; layers as in torchvision.", &build};

}  // namespace
}  // namespace runner
