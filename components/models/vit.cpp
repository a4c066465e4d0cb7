#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/normalization.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "components/layers/activation_checkpoint.hpp"
#include "components/layers/attention.hpp"
#include "components/layers/linear.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"
#include "components/models/weights/weight_names.hpp"

namespace runner {
namespace {

struct Vit {
  std::int64_t patch = 16;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t width = 768;
  std::int64_t hidden = 0;
  double dropout = 0.0;
  double attention_dropout = 0.0;
  std::int64_t num_classes = 0;
  bool checkpoint_activations = false;
};
constexpr auto describe(std::type_identity<Vit>) {
  return fields(
      field("patch", &Vit::patch, "Edge of the patches, in pixels; must divide height and width.",
            within(1, 1 << 20)),
      field("layers", &Vit::layers, "Number of blocks (attention and mlp).", within(1, 4096)),
      field("heads", &Vit::heads, "Attention heads of each block.", within(1, 1 << 20), changes_course()),
      field("width", &Vit::width, "Size of the patch embeddings; a multiple of heads.", within(1, 1 << 20)),
      field("hidden", &Vit::hidden, "Width of the mlp; 0: four times width.", within(0, 1 << 20)),
      field("dropout", &Vit::dropout, "Dropout of embeddings and the output of each sublayer.", within(0, 1),
            changes_course()),
      field("attention_dropout", &Vit::attention_dropout, "Dropout of attention.", within(0, 1),
            changes_course()),
      field("num_classes", &Vit::num_classes, "Outputs; 0: as many as the dataset has classes.",
            within(0, 1 << 20)),
      field("checkpoint_activations", &Vit::checkpoint_activations, checkpoint_doc, harmless()));
}
void check(const Vit& vit, Report& report) {
  if (vit.width % vit.heads != 0)
    report.error("width", "must be a multiple of heads, " + std::to_string(vit.heads));
}

torch::nn::LayerNorm norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(1e-6));
}

// Has the parameters of nn.MultiheadAttention.
class SelfAttention : public torch::nn::Module {
 public:
  explicit SelfAttention(const Vit& vit) : heads_(vit.heads), dropout_(vit.attention_dropout) {
    in_proj_weight = register_parameter("in_proj_weight", torch::empty({3 * vit.width, vit.width}));
    in_proj_bias = register_parameter("in_proj_bias", torch::zeros({3 * vit.width}));
    out_proj = register_module("out_proj", Linear(vit.width, vit.width));
    torch::nn::init::xavier_uniform_(in_proj_weight);
    torch::nn::init::zeros_(out_proj->bias);
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const auto parts = torch::linear(x, in_proj_weight, in_proj_bias).chunk(3, -1);
    const auto attended =
        at::scaled_dot_product_attention(split_heads(parts[0], heads_), split_heads(parts[1], heads_),
                                         split_heads(parts[2], heads_), {}, is_training() ? dropout_ : 0.0);
    return out_proj(join_heads(attended));
  }

 private:
  std::int64_t heads_;
  double dropout_;
  torch::Tensor in_proj_weight, in_proj_bias;
  Linear out_proj{nullptr};
};

// Layers are numbered as in torchvision's Sequential, which also counts activation and dropout.
class MlpBlock : public torch::nn::Module {
 public:
  explicit MlpBlock(const Vit& vit)
      : dropout_(vit.dropout),
        first(register_module("0", Linear(vit.width, vit.hidden))),
        second(register_module("3", Linear(vit.hidden, vit.width))) {
    for (auto* layer : {&first, &second}) {
      torch::nn::init::xavier_uniform_((*layer)->weight);
      torch::nn::init::normal_((*layer)->bias, 0, 1e-6);
    }
  }

  torch::Tensor forward(const torch::Tensor& x) { return dropped(second(dropped(torch::gelu(first(x))))); }

 private:
  torch::Tensor dropped(const torch::Tensor& x) const { return torch::dropout(x, dropout_, is_training()); }

  double dropout_;
  Linear first, second;
};

class EncoderLayer : public torch::nn::Module {
 public:
  explicit EncoderLayer(const Vit& vit)
      : dropout_(vit.dropout),
        ln_1(register_module("ln_1", norm(vit.width))),
        self_attention(register_module("self_attention", std::make_shared<SelfAttention>(vit))),
        ln_2(register_module("ln_2", norm(vit.width))),
        mlp(register_module("mlp", std::make_shared<MlpBlock>(vit))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    const auto attended = torch::dropout(self_attention->forward(ln_1(x)), dropout_, is_training()) + x;
    return attended + mlp->forward(ln_2(attended));
  }

 private:
  double dropout_;
  torch::nn::LayerNorm ln_1;
  std::shared_ptr<SelfAttention> self_attention;
  torch::nn::LayerNorm ln_2;
  std::shared_ptr<MlpBlock> mlp;
};

// Dosovitskiy et al. 2020, https://arxiv.org/abs/2010.11929, with torchvision's names and initialisation.
class VitModel : public Model, public WeightNames {
 public:
  VitModel(const Vit& vit, const ImageShape& image, std::int64_t outputs)
      : vit_(vit),
        class_token(register_parameter("class_token", torch::zeros({1, 1, vit.width}))),
        conv_proj(register_module(
            "conv_proj",
            torch::nn::Conv2d(
                torch::nn::Conv2dOptions(image.channels, vit.width, vit.patch).stride(vit.patch)))) {
    const std::int64_t patches = (image.height / vit.patch) * (image.width / vit.patch);
    auto encoder = register_module("encoder", std::make_shared<torch::nn::Module>());
    pos_embedding = encoder->register_parameter("pos_embedding", torch::empty({1, patches + 1, vit.width}));
    torch::nn::init::normal_(pos_embedding, 0, 0.02);
    auto layers = encoder->register_module("layers", std::make_shared<torch::nn::Module>());
    for (std::int64_t i = 0; i < vit.layers; ++i) {
      layers_.push_back(
          layers->register_module("encoder_layer_" + std::to_string(i), std::make_shared<EncoderLayer>(vit)));
    }
    ln = encoder->register_module("ln", norm(vit.width));
    head = register_module("heads", std::make_shared<torch::nn::Module>())
               ->register_module("head", Linear(vit.width, outputs));
    initialise();
  }

  void adapt(NamedWeights& weights) const override {
    if (std::ranges::any_of(weights, [](const auto& entry) {
          return entry.first.find("encoder.layer.0.attention.attention.query") != std::string::npos;
        }))
      throw std::runtime_error(
          "Model \"vit\": the file has the layout of HuggingFace's ViT, whose queries, keys and values are "
          "separate; this model has torchvision's. Weights of torchvision's vit_b_16 and others fit.");
  }

  torch::Tensor forward(const Batch& batch) override {
    const auto patches = conv_proj(batch.input).flatten(2).transpose(1, 2);
    const auto tokens = torch::cat({class_token.expand({patches.size(0), -1, -1}), patches}, 1);
    auto x = torch::dropout(tokens + pos_embedding, vit_.dropout, is_training());
    for (const auto& layer : layers_) {
      x = run_segment(vit_.checkpoint_activations, *layer,
                      [=](const auto& inputs) { return layer->forward(inputs[0]); }, {x});
    }
    return head(ln(x.select(1, 0)));
  }

 private:
  void initialise() {
    const torch::NoGradGuard no_grad;
    const auto inputs = static_cast<double>(conv_proj->weight[0].numel());
    const double spread = std::sqrt(1 / inputs);
    // Like torch.nn.init.trunc_normal_, whose bounds are -2 and 2, not two standard deviations.
    conv_proj->weight.normal_(0, spread).clamp_(-2, 2);
    torch::nn::init::zeros_(conv_proj->bias);
    torch::nn::init::zeros_(head->weight);
    torch::nn::init::zeros_(head->bias);
  }

  Vit vit_;
  torch::Tensor class_token, pos_embedding;
  torch::nn::Conv2d conv_proj;
  std::vector<std::shared_ptr<EncoderLayer>> layers_;
  torch::nn::LayerNorm ln{nullptr};
  Linear head{nullptr};
};

ModelFacts facts(const Vit& settings) { return {.tasks = {Task::images}, .side_divisor = settings.patch}; }

std::unique_ptr<Model> build(const Vit& settings, const ModelInputs& inputs) {
  Vit vit = settings;
  const ImageShape image = image_shape("vit", inputs.data);
  if (image.height % vit.patch != 0 || image.width % vit.patch != 0) {
    throw std::runtime_error("Model \"vit\": images of " + std::to_string(image.height) + " x " +
                             std::to_string(image.width) + " cannot be cut into patches of " +
                             std::to_string(vit.patch) + " x " + std::to_string(vit.patch) +
                             "; set model.patch or resize the images.");
  }
  if (vit.hidden == 0) vit.hidden = 4 * vit.width;
  return std::make_unique<VitModel>(vit, image, output_count("vit", settings.num_classes, inputs.data));
}

const Registration<ModelKind> registration{
    "vit", "Vision transformer, by default vit_b_16; layers as in torchvision.", &build};

}  // namespace
}  // namespace runner
