#include <torch/nn/init.h>

#include <array>

#include "components/layers/linear.hpp"
#include "components/layers/residual_blocks.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"

namespace runner {
namespace {

struct CifarResnet {
  std::int64_t num_classes = 0;
};
constexpr auto describe(std::type_identity<CifarResnet>) {
  return fields(field("num_classes", &CifarResnet::num_classes,
                      "Outputs; 0: as many as the dataset has classes.", within(0, 1 << 20)));
}

// The small networks of He et al. 2015, section 4.2: three stages of n blocks, 16, 32 and 64 wide, 6n + 2
// layers. Names and initialisation as in akamaster/pytorch_resnet_cifar10.
class CifarResnetModel : public Model {
 public:
  CifarResnetModel(std::int64_t blocks, std::int64_t channels, std::int64_t outputs)
      : conv1(register_module("conv1", convolution(channels, 16, 3, 1))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(16))),
        layers_{register_module("layer1", Stage::of<BasicBlock>(16, 16, blocks, 1, Shortcut::padding)),
                register_module("layer2", Stage::of<BasicBlock>(16, 32, blocks, 2, Shortcut::padding)),
                register_module("layer3", Stage::of<BasicBlock>(32, 64, blocks, 2, Shortcut::padding))},
        linear(register_module("linear", Linear(64, outputs))) {
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* layer = module->as<torch::nn::Conv2d>()) torch::nn::init::kaiming_normal_(layer->weight);
      if (auto* layer = module->as<LinearImpl>()) torch::nn::init::kaiming_normal_(layer->weight);
    }
  }

  torch::Tensor forward(const Batch& batch) override {
    auto x = bn1(conv1(batch.input)).relu_();
    for (const auto& layer : layers_) x = layer->forward(x);
    return linear(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

  bool prefers_channels_last() const override { return true; }

 private:
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  std::array<std::shared_ptr<Stage>, 3> layers_;
  Linear linear;
};

struct Architecture {
  std::string_view name;
  std::int64_t blocks;
};
constexpr Architecture resnet20{"resnet20", 3};
constexpr Architecture resnet32{"resnet32", 5};
constexpr Architecture resnet44{"resnet44", 7};
constexpr Architecture resnet56{"resnet56", 9};

ModelFacts facts(const CifarResnet&) { return {.tasks = {Task::images}}; }

template <const Architecture& architecture>
std::unique_ptr<Model> build(const CifarResnet& settings, const ModelInputs& inputs) {
  return std::make_unique<CifarResnetModel>(
      architecture.blocks, image_shape(architecture.name, inputs.data).channels,
      output_count(architecture.name, settings.num_classes, inputs.data));
}

const Registration<ModelKind> r20{resnet20.name, "ResNet-20 for CIFAR: 0.27 million parameters.",
                                  &build<resnet20>};
const Registration<ModelKind> r32{resnet32.name, "ResNet-32 for CIFAR: 0.46 million parameters.",
                                  &build<resnet32>};
const Registration<ModelKind> r44{resnet44.name, "ResNet-44 for CIFAR: 0.66 million parameters.",
                                  &build<resnet44>};
const Registration<ModelKind> r56{resnet56.name, "ResNet-56 for CIFAR: 0.85 million parameters.",
                                  &build<resnet56>};

}  // namespace
}  // namespace runner
