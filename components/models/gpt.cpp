#include <torch/nn/init.h>
#include <torch/nn/modules/embedding.h>

#include <cmath>

#include "components/layers/activation_checkpoint.hpp"
#include "components/layers/attention.hpp"
#include "components/layers/linear.hpp"
#include "components/layers/tanh_gelu.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/language_model.hpp"
#include "components/models/weights/gpt_names.hpp"
#include "components/models/weights/pretrained_config.hpp"
#include "components/models/weights/weight_names.hpp"

namespace runner {
namespace {

enum class GptActivation { gelu_new, gelu, relu };
constexpr auto describe(std::type_identity<GptActivation>) {
  return choices(choice("gelu_new", GptActivation::gelu_new, "approximated with tanh, as in GPT-2"),
                 choice("gelu", GptActivation::gelu, "exact, with erf"), choice("relu", GptActivation::relu));
}

struct Gpt {
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t width = 768;
  std::int64_t context = 0;
  std::int64_t vocabulary = 0;
  double dropout = 0.0;
  bool bias = true;
  bool tied = true;
  GptActivation activation = GptActivation::gelu_new;
  bool checkpoint_activations = false;
};
constexpr auto describe(std::type_identity<Gpt>) {
  return fields(
      field("layers", &Gpt::layers, "Number of blocks (attention and mlp).", within(1, 4096)),
      field("heads", &Gpt::heads, "Attention heads of each block.", within(1, 1 << 20), changes_course()),
      field("width", &Gpt::width, "Size of the token embeddings; a multiple of heads.", within(1, 1 << 20)),
      field("context", &Gpt::context, "Maximum number of tokens; 0: as many as the dataset's examples have.",
            within(0, 1 << 20)),
      field("vocabulary", &Gpt::vocabulary, "Size of the vocabulary; 0: that of the dataset.",
            within(0, 1 << 20)),
      field("dropout", &Gpt::dropout, "Dropout of embeddings, attention and the output of each sublayer.",
            within(0, 1), changes_course()),
      field("bias", &Gpt::bias, "Linear layers and normalisations have a bias, as in GPT-2."),
      field("tied", &Gpt::tied, "The head shares the weights of the token embedding, as in GPT-2."),
      field("activation", &Gpt::activation, "In the middle of each mlp.", changes_course()),
      field("checkpoint_activations", &Gpt::checkpoint_activations, checkpoint_doc, harmless()));
}
void check(const Gpt& gpt, Report& report) {
  if (gpt.heads > 0 && gpt.width % gpt.heads != 0)
    report.error("width", "must be a multiple of heads, " + std::to_string(gpt.heads));
}

std::string activation_name(GptActivation activation) {
  return activation == GptActivation::gelu_new ? "gelu_new"
         : activation == GptActivation::gelu   ? "gelu"
                                               : "relu";
}

constexpr double deviation = 0.02;

// Stored as [in, out], as in GPT-2's files.
Linear conv1d(std::int64_t in, std::int64_t out, bool bias, double std) {
  return Linear(LinearOptions{.in = in, .out = out, .bias = bias, .in_out = true, .std = std});
}

class Norm : public torch::nn::Module {
 public:
  Norm(std::int64_t width, bool with_bias) {
    weight = register_parameter("weight", torch::ones({width}));
    if (with_bias) bias = register_parameter("bias", torch::zeros({width}));
  }

  torch::Tensor forward(const torch::Tensor& x) const {
    return torch::layer_norm(x, weight.sizes(), weight, bias);
  }

 private:
  torch::Tensor weight, bias;
};

class Attention : public torch::nn::Module {
 public:
  Attention(const Gpt& gpt, double residual_spread)
      : heads_(gpt.heads),
        dropout_(gpt.dropout),
        c_attn(register_module("c_attn", conv1d(gpt.width, 3 * gpt.width, gpt.bias, deviation))),
        c_proj(register_module("c_proj", conv1d(gpt.width, gpt.width, gpt.bias, residual_spread))) {}

  torch::Tensor forward(const torch::Tensor& x, KvCache* cache, std::size_t layer) const {
    const auto parts = c_attn->forward(x).chunk(3, -1);
    const auto attended =
        attend_causally(split_heads(parts[0], heads_), split_heads(parts[1], heads_),
                        split_heads(parts[2], heads_), is_training() ? dropout_ : 0.0, cache, layer);
    return torch::dropout(c_proj->forward(join_heads(attended)), dropout_, is_training());
  }

 private:
  std::int64_t heads_;
  double dropout_;
  Linear c_attn, c_proj;
};

class Mlp : public torch::nn::Module {
 public:
  Mlp(const Gpt& gpt, double residual_spread)
      : activation_(gpt.activation),
        dropout_(gpt.dropout),
        c_fc(register_module("c_fc", conv1d(gpt.width, 4 * gpt.width, gpt.bias, deviation))),
        c_proj(register_module("c_proj", conv1d(4 * gpt.width, gpt.width, gpt.bias, residual_spread))) {}

  torch::Tensor forward(const torch::Tensor& x) const {
    return torch::dropout(c_proj->forward(activate(c_fc->forward(x))), dropout_, is_training());
  }

 private:
  torch::Tensor activate(const torch::Tensor& x) const {
    switch (activation_) {
      case GptActivation::gelu_new: return tanh_gelu(x);
      case GptActivation::gelu: return torch::gelu(x);
      case GptActivation::relu: return torch::relu(x);
    }
    return x;
  }

  GptActivation activation_;
  double dropout_;
  Linear c_fc, c_proj;
};

class Block : public torch::nn::Module {
 public:
  Block(const Gpt& gpt, double residual_spread)
      : ln_1(register_module("ln_1", std::make_shared<Norm>(gpt.width, gpt.bias))),
        attn(register_module("attn", std::make_shared<Attention>(gpt, residual_spread))),
        ln_2(register_module("ln_2", std::make_shared<Norm>(gpt.width, gpt.bias))),
        mlp(register_module("mlp", std::make_shared<Mlp>(gpt, residual_spread))) {}

  torch::Tensor forward(const torch::Tensor& x, KvCache* cache, std::size_t layer) const {
    const auto attended = x + attn->forward(ln_1->forward(x), cache, layer);
    return attended + mlp->forward(ln_2->forward(attended));
  }

 private:
  std::shared_ptr<Norm> ln_1;
  std::shared_ptr<Attention> attn;
  std::shared_ptr<Norm> ln_2;
  std::shared_ptr<Mlp> mlp;
};

// GPT-2 (Radford et al. 2019), with the names of HuggingFace's GPT2LMHeadModel.
class GptModel : public LanguageModel, public WeightNames, public Pretrained {
 public:
  explicit GptModel(const Gpt& gpt) : gpt_(gpt) {
    auto transformer = register_module("transformer", std::make_shared<torch::nn::Module>());
    wte = transformer->register_module("wte", torch::nn::Embedding(gpt.vocabulary, gpt.width));
    wpe = transformer->register_module("wpe", torch::nn::Embedding(gpt.context, gpt.width));
    torch::nn::init::normal_(wte->weight, 0, deviation);
    torch::nn::init::normal_(wpe->weight, 0, deviation);
    auto h = transformer->register_module("h", std::make_shared<torch::nn::Module>());
    // Keeps the variance of the residual stream independent of the number of blocks.
    const double residual_spread = deviation / std::sqrt(2.0 * static_cast<double>(gpt.layers));
    for (std::int64_t i = 0; i < gpt.layers; ++i) {
      blocks_.push_back(h->register_module(std::to_string(i), std::make_shared<Block>(gpt, residual_spread)));
    }
    ln_f = transformer->register_module("ln_f", std::make_shared<Norm>(gpt.width, gpt.bias));
    if (gpt.tied) return;
    lm_head = register_module("lm_head", Linear(gpt.width, gpt.vocabulary, /*with_bias=*/false));
    torch::nn::init::normal_(lm_head->weight, 0, deviation);
  }

  torch::Tensor forward(const Batch& batch) override { return logits(hidden(batch.input, nullptr)); }

  torch::Tensor next(const torch::Tensor& tokens, KvCache& cache) override {
    const auto last = hidden(tokens, &cache).select(1, -1);
    cache.length += tokens.size(1);
    return logits(last);
  }

  std::int64_t context() const override { return gpt_.context; }
  std::vector<std::string> adapter_targets() const override { return {"c_attn"}; }
  std::int64_t vocabulary() const override { return gpt_.vocabulary; }

  void adapt(NamedWeights& weights) const override { to_gpt_names(weights, gpt_.tied); }

  void compare(PretrainedConfig& config) const override {
    config.kind("gpt2");
    config.same("n_layer", 12, "layers", gpt_.layers);
    config.same("n_head", 12, "heads", gpt_.heads);
    config.same("n_embd", 768, "width", gpt_.width);
    config.same("n_positions", 1024, "context", gpt_.context);
    config.same("vocab_size", 50257, "vocabulary", gpt_.vocabulary);
    config.same("tie_word_embeddings", true, "tied", gpt_.tied);
    config.same("activation_function", std::string("gelu_new"), "activation",
                activation_name(gpt_.activation),
                {{"gelu_pytorch_tanh", "gelu_new"}, {"gelu_fast", "gelu_new"}});
    config.only("activation_function",
                {"\"gelu_new\"", "\"gelu_pytorch_tanh\"", "\"gelu_fast\"", "\"gelu\"", "\"relu\""});
    if (!gpt_.bias) config.differs("bias", "true");
    config.only("n_inner", {std::to_string(4 * config.integer("n_embd", 768))});
    config.only("layer_norm_epsilon", {"1e-05"});
    config.only("scale_attn_weights", {"true"});
    config.only("scale_attn_by_inverse_layer_idx", {"false"});
    config.only("add_cross_attention", {"false"});
  }

 private:
  torch::Tensor hidden(const torch::Tensor& tokens, KvCache* cache) {
    require_positions("gpt", (cache ? cache->length : 0) + tokens.size(1), gpt_.context);
    const auto positions = wpe->weight.narrow(0, cache ? cache->length : 0, tokens.size(1));
    auto x = torch::dropout(wte(tokens) + positions, gpt_.dropout, is_training());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& block = blocks_[i];
      x = run_segment(gpt_.checkpoint_activations, *block,
                      [=](const auto& inputs) { return block->forward(inputs[0], cache, i); }, {x});
    }
    return ln_f->forward(x);
  }

  torch::Tensor logits(const torch::Tensor& x) const {
    return lm_head ? lm_head->forward(x) : torch::linear(x, wte->weight);
  }

  Gpt gpt_;
  torch::nn::Embedding wte{nullptr}, wpe{nullptr};
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<Norm> ln_f;
  Linear lm_head{nullptr};
};

ModelFacts facts(const Gpt&) { return {.tasks = {Task::language_model}, .pretrained_types = {"gpt2"}}; }

std::unique_ptr<Model> build(const Gpt& settings, const ModelInputs& inputs) {
  Gpt gpt = settings;
  gpt.vocabulary = vocabulary_size("gpt", settings.vocabulary, inputs.data);
  gpt.context = context_length("gpt", settings.context, inputs.data);
  return std::make_unique<GptModel>(gpt);
}

const Registration<ModelKind> registration{
    "gpt", "GPT-2: a language model of any size; layers as in HuggingFace's GPT2LMHeadModel.", &build};

}  // namespace
}  // namespace runner
