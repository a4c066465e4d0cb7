#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include "components/layers/residual_blocks.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"

namespace runner {
namespace {

struct Unet {
  std::int64_t width = 32;
  std::int64_t halvings = 3;
  std::int64_t num_classes = 0;
};
constexpr auto describe(std::type_identity<Unet>) {
  return fields(field("width", &Unet::width, "Channels at the full size; twice as many after each halving.",
                      within(1, 1 << 20)),
                field("halvings", &Unet::halvings, "How many times the image is halved.", within(1, 8)),
                field("num_classes", &Unet::num_classes, "Classes of a pixel; 0: as many as the dataset has.",
                      within(0, 1 << 20)));
}

// Two 3x3 convolutions, each normalised.
class DoubleConvolution : public torch::nn::Module {
 public:
  DoubleConvolution(std::int64_t in, std::int64_t out)
      : conv1(register_module("conv1", convolution(in, out, 3, 1))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(out))),
        conv2(register_module("conv2", convolution(out, out, 3, 1))),
        bn2(register_module("bn2", torch::nn::BatchNorm2d(out))) {}

  torch::Tensor forward(const torch::Tensor& x) { return bn2(conv2(bn1(conv1(x)).relu_())).relu_(); }

 private:
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
};

// Ronneberger et al. 2015, https://arxiv.org/abs/1505.04597: a class for every pixel.
class UnetModel : public Model {
 public:
  UnetModel(const Unet& unet, std::int64_t channels, std::int64_t outputs) {
    std::int64_t in = channels, width = unet.width;
    for (std::int64_t i = 0; i <= unet.halvings; ++i, width *= 2) {
      down_.push_back(
          register_module("down" + std::to_string(i), std::make_shared<DoubleConvolution>(in, width)));
      in = width;
    }
    for (std::int64_t i = unet.halvings - 1; i >= 0; --i, in /= 2) {
      widen_.push_back(register_module(
          "widen" + std::to_string(i),
          torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(in, in / 2, 2).stride(2))));
      up_.push_back(
          register_module("up" + std::to_string(i), std::make_shared<DoubleConvolution>(in, in / 2)));
    }
    head = register_module("head", torch::nn::Conv2d(torch::nn::Conv2dOptions(in, outputs, 1)));
  }

  torch::Tensor forward(const Batch& batch) override {
    std::vector<torch::Tensor> passed;  // skip connections to the layers of the same size on the way up
    auto x = batch.input;
    for (std::size_t i = 0; i < down_.size(); ++i) {
      x = down_[i]->forward(i == 0 ? x : torch::max_pool2d(x, 2));
      passed.push_back(x);
    }
    passed.pop_back();
    for (std::size_t i = 0; i < up_.size(); ++i) {
      x = up_[i]->forward(torch::cat({passed.back(), widen_[i](x)}, 1));
      passed.pop_back();
    }
    return head(x);
  }

  bool prefers_channels_last() const override { return true; }

 private:
  std::vector<std::shared_ptr<DoubleConvolution>> down_, up_;
  std::vector<torch::nn::ConvTranspose2d> widen_;
  torch::nn::Conv2d head{nullptr};
};

ModelFacts facts(const Unet& settings) {
  return {.tasks = {Task::segmentation}, .side_divisor = std::int64_t{1} << settings.halvings};
}

std::unique_ptr<Model> build(const Unet& settings, const ModelInputs& inputs) {
  const ImageShape image = image_shape("unet", inputs.data);
  require_halvings("unet", image, settings.halvings);
  return std::make_unique<UnetModel>(settings, image.channels,
                                     output_count("unet", settings.num_classes, inputs.data));
}

const Registration<ModelKind> registration{"unet", "U-Net for segmentation: a class for every pixel.",
                                           &build};

}  // namespace
}  // namespace runner
