#include <torch/nn/init.h>

#include <array>

#include "components/layers/linear.hpp"
#include "components/layers/residual_blocks.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"

namespace runner {
namespace {

enum class Stem { imagenet, cifar };
constexpr auto describe(std::type_identity<Stem>) {
  return choices(choice("imagenet", Stem::imagenet, "7x7, stride 2, then max pooling"),
                 choice("cifar", Stem::cifar, "3x3, stride 1, with bias, no pooling: for small images"));
}

struct Resnet {
  Stem stem = Stem::imagenet;
  bool zero_init_residual = false;
  std::int64_t num_classes = 0;
};
constexpr auto describe(std::type_identity<Resnet>) {
  return fields(
      field("stem", &Resnet::stem, "The first layers."),
      field("zero_init_residual", &Resnet::zero_init_residual,
            "Each block starts as the identity: its last normalisation starts at zero.", harmless()),
      field("num_classes", &Resnet::num_classes, "Outputs; 0: as many as the dataset has classes.",
            within(0, 1 << 20)));
}

enum class Block { basic, bottleneck, wide };

struct Architecture {
  std::string_view name;
  Block block;
  std::array<std::int64_t, 4> blocks;
};

// Structure, names and initialisation as in torchvision.models.resnet.
class ResnetModel : public Model {
 public:
  ResnetModel(const Architecture& architecture, const Resnet& settings, std::int64_t channels,
              std::int64_t outputs)
      : stem_(settings.stem),
        conv1(register_module("conv1", stem_ == Stem::cifar ? convolution(channels, 64, 3, 1, true)
                                                            : convolution(channels, 64, 7, 2))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(64))) {
    const bool basic = architecture.block == Block::basic;
    const std::int64_t expansion = basic ? BasicBlock::expansion : Bottleneck::expansion;
    const auto make = basic                               ? &Stage::of<BasicBlock>
                      : architecture.block == Block::wide ? &Stage::of<WideBottleneck>
                                                          : &Stage::of<Bottleneck>;
    std::int64_t in = 64;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const std::int64_t width = std::int64_t{64} << i;
      layers_[i] =
          register_module("layer" + std::to_string(i + 1),
                          make(in, width, architecture.blocks[i], i == 0 ? 1 : 2, Shortcut::projection));
      in = width * expansion;
    }
    fc = register_module("fc", Linear(in, outputs));
    initialise(settings.zero_init_residual);
  }

  torch::Tensor forward(const Batch& batch) override {
    auto x = bn1(conv1(batch.input)).relu_();
    if (stem_ == Stem::imagenet) x = torch::max_pool2d(x, 3, 2, 1);
    for (const auto& layer : layers_) x = layer->forward(x);
    return fc(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

  bool prefers_channels_last() const override { return true; }

 private:
  void initialise(bool zero_init_residual) {
    for (const auto& module : modules(/*include_self=*/false)) {
      const auto* layer = module->as<torch::nn::Conv2d>();
      // In Python the small stem is an nn.Conv2d that replaces torchvision's, so it has PyTorch's default
      // initialisation.
      if (!layer || (stem_ == Stem::cifar && layer == conv1.get())) continue;
      torch::nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut, torch::kReLU);
    }
    if (!zero_init_residual) return;
    for (const auto& layer : layers_) {
      for (const auto& block : layer->blocks()) block->zero_last_norm();
    }
  }

  Stem stem_;
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  std::array<std::shared_ptr<Stage>, 4> layers_;
  Linear fc{nullptr};
};

constexpr Architecture resnet18{"resnet18", Block::basic, {2, 2, 2, 2}};
constexpr Architecture resnet34{"resnet34", Block::basic, {3, 4, 6, 3}};
constexpr Architecture resnet50{"resnet50", Block::bottleneck, {3, 4, 6, 3}};
constexpr Architecture resnet101{"resnet101", Block::bottleneck, {3, 4, 23, 3}};
constexpr Architecture wide_resnet50{"wide_resnet50_2", Block::wide, {3, 4, 6, 3}};

ModelFacts facts(const Resnet&) { return {.tasks = {Task::images}}; }

template <const Architecture& architecture>
std::unique_ptr<Model> build(const Resnet& settings, const ModelInputs& inputs) {
  return std::make_unique<ResnetModel>(architecture, settings,
                                       image_shape(architecture.name, inputs.data).channels,
                                       output_count(architecture.name, settings.num_classes, inputs.data));
}

const Registration<ModelKind> r18{
    resnet18.name, "ResNet-18: 11.7 million parameters; layers as in torchvision.", &build<resnet18>};
const Registration<ModelKind> r34{
    resnet34.name, "ResNet-34: 21.8 million parameters; layers as in torchvision.", &build<resnet34>};
const Registration<ModelKind> r50{
    resnet50.name, "ResNet-50: 25.6 million parameters; layers as in torchvision.", &build<resnet50>};
const Registration<ModelKind> r101{
    resnet101.name, "ResNet-101: 44.5 million parameters; layers as in torchvision.", &build<resnet101>};
const Registration<ModelKind> w50{
    wide_resnet50.name,
    "ResNet-50 with inner convolutions twice as wide: 68.9 million parameters; layers as in torchvision.",
    &build<wide_resnet50>};

}  // namespace
}  // namespace runner
