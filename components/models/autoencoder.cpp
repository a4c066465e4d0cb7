#include <torch/nn/modules/conv.h>

#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"

namespace runner {
namespace {

struct Autoencoder {
  std::vector<std::int64_t> channels = {16, 32};
  std::int64_t code = 8;
};
constexpr auto describe(std::type_identity<Autoencoder>) {
  return fields(
      field("channels", &Autoencoder::channels, "Channels after each halving of the image.",
            within(1, 1 << 20), non_empty()),
      field("code", &Autoencoder::code, "Channels of the code (the bottleneck).", within(1, 1 << 20)));
}

void check(const Autoencoder& settings, Report& report) {
  constexpr std::size_t most = 16;  // enough for images of 65536 x 65536
  if (settings.channels.size() <= most) return;
  report.error("channels", "has " + std::to_string(settings.channels.size()) +
                               " entries; an image can be halved at most " + std::to_string(most) + " times");
}

// Strided 3x3 convolutions that halve the image, a 1x1 bottleneck, and transposed convolutions back.
class AutoencoderModel : public Model {
 public:
  AutoencoderModel(const Autoencoder& settings, std::int64_t channels) {
    std::int64_t in = channels;
    for (const std::int64_t out : settings.channels) {
      down_.push_back(register_module("down" + std::to_string(down_.size() + 1), halving(in, out)));
      in = out;
    }
    code = register_module("code", torch::nn::Conv2d(torch::nn::Conv2dOptions(in, settings.code, 1)));
    in = settings.code;
    for (std::size_t i = settings.channels.size(); i-- > 0;) {
      const std::int64_t out = settings.channels[i];
      up_.push_back(register_module("up" + std::to_string(i + 1), doubling(in, out)));
      in = out;
    }
    output =
        register_module("output", torch::nn::Conv2d(torch::nn::Conv2dOptions(in, channels, 3).padding(1)));
  }

  torch::Tensor forward(const Batch& batch) override {
    auto x = batch.input;
    for (auto& layer : down_) x = layer(x).relu_();
    x = code(x);
    for (auto& layer : up_) x = layer(x).relu_();
    return output(x);
  }

  bool prefers_channels_last() const override { return true; }

 private:
  static torch::nn::Conv2d halving(std::int64_t in, std::int64_t out) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).stride(2).padding(1));
  }
  static torch::nn::ConvTranspose2d doubling(std::int64_t in, std::int64_t out) {
    return torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(in, out, 2).stride(2));
  }

  std::vector<torch::nn::Conv2d> down_;
  torch::nn::Conv2d code{nullptr};
  std::vector<torch::nn::ConvTranspose2d> up_;
  torch::nn::Conv2d output{nullptr};
};

ModelFacts facts(const Autoencoder& settings) {
  return {.tasks = {Task::reconstruction}, .side_divisor = std::int64_t{1} << settings.channels.size()};
}

std::unique_ptr<Model> build(const Autoencoder& settings, const ModelInputs& inputs) {
  const ImageShape image = image_shape("autoencoder", inputs.data);
  require_halvings("autoencoder", image, static_cast<std::int64_t>(settings.channels.size()));
  return std::make_unique<AutoencoderModel>(settings, image.channels);
}

const Registration<ModelKind> registration{
    "autoencoder", "Convolutional autoencoder for images; train it with a loss whose target is the input.",
    &build};

}  // namespace
}  // namespace runner
