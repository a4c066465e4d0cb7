#include <ATen/ops/rms_norm.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/embedding.h>

#include "components/layers/activation_checkpoint.hpp"
#include "components/layers/attention.hpp"
#include "components/layers/linear.hpp"
#include "components/layers/rotary.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/language_model.hpp"
#include "components/models/weights/pretrained_config.hpp"
#include "components/models/weights/pretrained_rope.hpp"
#include "components/models/weights/weight_names.hpp"

namespace runner {
namespace {

struct Llama {
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t key_heads = 0;
  std::int64_t width = 768;
  std::int64_t hidden = 0;
  std::int64_t context = 0;
  std::int64_t vocabulary = 0;
  double rope_theta = 10000;
  std::optional<RopeScaling> rope_scaling = {};
  double epsilon = 1e-6;
  bool tied = false;
  bool checkpoint_activations = false;
};
constexpr auto describe(std::type_identity<Llama>) {
  return fields(
      field("layers", &Llama::layers, "Number of blocks (attention and mlp).", within(1, 4096)),
      field("heads", &Llama::heads, "Attention heads of each block.", within(1, 1 << 20), changes_course()),
      field("key_heads", &Llama::key_heads,
            "Heads of keys and values, each shared by several heads of queries; 0: as many as heads.",
            within(0, 1 << 20)),
      field("width", &Llama::width, "Size of the token embeddings; an even multiple of heads.",
            within(1, 1 << 20)),
      field("hidden", &Llama::hidden,
            "Width of the gated mlp; 0: 8/3 of width, up to the next multiple of 64.", within(0, 1 << 20)),
      field("context", &Llama::context,
            "Maximum number of tokens; 0: as many as the dataset's examples have.", within(0, 1 << 20),
            changes_course()),
      field("vocabulary", &Llama::vocabulary, "Size of the vocabulary; 0: that of the dataset.",
            within(0, 1 << 20)),
      field("rope_theta", &Llama::rope_theta, "Base of the wavelengths of the rotary positions.", above(0),
            changes_course()),
      field("rope_scaling", &Llama::rope_scaling,
            "For longer texts than in pre-training, as in Llama 3.1: { type = \"llama3\", "
            "factor = 8.0, "
            "original_context = 8192 }.",
            changes_course()),
      field("epsilon", &Llama::epsilon, "Added to the mean square in normalisations.", above(0),
            changes_course()),
      field("tied", &Llama::tied, "The head shares the weights of the token embedding."),
      field("checkpoint_activations", &Llama::checkpoint_activations, checkpoint_doc, harmless()));
}
void check(const Llama& llama, Report& report) {
  if (llama.width % (2 * llama.heads) != 0) {
    report.error("width", "must be an even multiple of heads, " + std::to_string(llama.heads));
  }
  if (llama.key_heads > 0 && llama.heads % llama.key_heads != 0) {
    report.error("key_heads", "must divide heads, " + std::to_string(llama.heads));
  }
}

Linear projection(std::int64_t in, std::int64_t out) {
  auto layer = Linear(in, out, /*with_bias=*/false);
  torch::nn::init::normal_(layer->weight, 0, 0.02);
  return layer;
}

class RmsNorm : public torch::nn::Module {
 public:
  explicit RmsNorm(const Llama& llama)
      : weight(register_parameter("weight", torch::ones({llama.width}))), epsilon_(llama.epsilon) {}

  torch::Tensor forward(const torch::Tensor& x) const {
    return at::rms_norm(x, weight.sizes(), weight, epsilon_);
  }

 private:
  torch::Tensor weight;
  double epsilon_;
};

class SelfAttention : public torch::nn::Module {
 public:
  explicit SelfAttention(const Llama& llama)
      : heads_(llama.heads),
        key_heads_(llama.key_heads),
        q_proj(register_module("q_proj", projection(llama.width, llama.width))),
        k_proj(register_module("k_proj", projection(llama.width, key_width(llama)))),
        v_proj(register_module("v_proj", projection(llama.width, key_width(llama)))),
        o_proj(register_module("o_proj", projection(llama.width, llama.width))) {}

  torch::Tensor forward(const torch::Tensor& x, const Rotation& rotation, KvCache* cache, std::size_t layer) {
    const auto query = rotated(split_heads(q_proj(x), heads_), rotation);
    const auto key = rotated(split_heads(k_proj(x), key_heads_), rotation);
    const auto value = split_heads(v_proj(x), key_heads_);
    return o_proj(join_heads(attend_causally(query, key, value, /*dropout=*/0, cache, layer)));
  }

 private:
  static std::int64_t key_width(const Llama& llama) { return llama.width / llama.heads * llama.key_heads; }

  std::int64_t heads_, key_heads_;
  Linear q_proj, k_proj, v_proj, o_proj;
};

class GatedMlp : public torch::nn::Module {
 public:
  explicit GatedMlp(const Llama& llama)
      : gate_proj(register_module("gate_proj", projection(llama.width, llama.hidden))),
        up_proj(register_module("up_proj", projection(llama.width, llama.hidden))),
        down_proj(register_module("down_proj", projection(llama.hidden, llama.width))) {}

  torch::Tensor forward(const torch::Tensor& x) { return down_proj(torch::silu(gate_proj(x)) * up_proj(x)); }

 private:
  Linear gate_proj, up_proj, down_proj;
};

class Layer : public torch::nn::Module {
 public:
  explicit Layer(const Llama& llama)
      : self_attn(register_module("self_attn", std::make_shared<SelfAttention>(llama))),
        mlp(register_module("mlp", std::make_shared<GatedMlp>(llama))),
        input_layernorm(register_module("input_layernorm", std::make_shared<RmsNorm>(llama))),
        post_attention_layernorm(
            register_module("post_attention_layernorm", std::make_shared<RmsNorm>(llama))) {}

  torch::Tensor forward(const torch::Tensor& x, const Rotation& rotation, KvCache* cache, std::size_t layer) {
    const auto attended = x + self_attn->forward(input_layernorm->forward(x), rotation, cache, layer);
    return attended + mlp->forward(post_attention_layernorm->forward(attended));
  }

 private:
  std::shared_ptr<SelfAttention> self_attn;
  std::shared_ptr<GatedMlp> mlp;
  std::shared_ptr<RmsNorm> input_layernorm, post_attention_layernorm;
};

// Touvron et al. 2023, https://arxiv.org/abs/2302.13971, with the names of HuggingFace's LlamaForCausalLM.
class LlamaModel : public LanguageModel, public WeightNames, public Pretrained {
 public:
  explicit LlamaModel(const Llama& llama)
      : llama_(llama),
        rotary_(llama.context, llama.width / llama.heads, llama.rope_theta, llama.rope_scaling) {
    auto model = register_module("model", std::make_shared<torch::nn::Module>());
    embed_tokens =
        model->register_module("embed_tokens", torch::nn::Embedding(llama.vocabulary, llama.width));
    torch::nn::init::normal_(embed_tokens->weight, 0, 0.02);
    auto layers = model->register_module("layers", std::make_shared<torch::nn::Module>());
    for (std::int64_t i = 0; i < llama.layers; ++i) {
      layers_.push_back(layers->register_module(std::to_string(i), std::make_shared<Layer>(llama)));
    }
    norm = model->register_module("norm", std::make_shared<RmsNorm>(llama));
    if (!llama.tied) lm_head = register_module("lm_head", projection(llama.width, llama.vocabulary));
  }

  torch::Tensor forward(const Batch& batch) override { return logits(hidden(batch.input, nullptr)); }

  torch::Tensor next(const torch::Tensor& tokens, KvCache& cache) override {
    const auto last = hidden(tokens, &cache).select(1, -1);
    cache.length += tokens.size(1);
    return logits(last);
  }

  std::int64_t context() const override { return llama_.context; }
  std::vector<std::string> adapter_targets() const override { return {"q_proj", "v_proj"}; }
  std::int64_t vocabulary() const override { return llama_.vocabulary; }

  void adapt(NamedWeights& weights) const override {
    add_prefix(weights, "model.", "embed_tokens.weight", "lm_head.");
    // Old files also hold the inverse frequencies of the rotary positions.
    std::erase_if(weights, [](const auto& entry) { return entry.first.ends_with("rotary_emb.inv_freq"); });
    settle_head(weights, "lm_head.weight", "model.embed_tokens.weight", llama_.tied);
  }

  void compare(PretrainedConfig& config) const override {
    config.kind("llama");
    config.same("num_hidden_layers", 32, "layers", llama_.layers);
    config.same("num_attention_heads", 32, "heads", llama_.heads);
    config.same("num_key_value_heads", config.integer("num_attention_heads", 32), "key_heads",
                llama_.key_heads);
    config.same("hidden_size", 4096, "width", llama_.width);
    config.same("intermediate_size", 11008, "hidden", llama_.hidden);
    config.same("vocab_size", 32000, "vocabulary", llama_.vocabulary);
    config.same("rms_norm_eps", 1e-6, "epsilon", llama_.epsilon);
    config.same("tie_word_embeddings", false, "tied", llama_.tied);
    compare_rope(config, llama_.context, llama_.rope_theta, llama_.rope_scaling);
    config.only("hidden_act", {"\"silu\"", "\"swish\""});
    config.only("attention_bias", {"false"});
    config.only("mlp_bias", {"false"});
    config.only("pretraining_tp", {"1"});
    config.only("head_dim",
                {std::to_string(config.integer("hidden_size", 4096) /
                                std::max<std::int64_t>(1, config.integer("num_attention_heads", 32)))});
  }

 private:
  torch::Tensor hidden(const torch::Tensor& tokens, KvCache* cache) {
    const std::int64_t before = cache ? cache->length : 0;
    require_positions("llama", before + tokens.size(1), llama_.context);
    auto x = embed_tokens(tokens);
    const Rotation rotation = rotary_.at(before, tokens.size(1), x.device());
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto& layer = layers_[i];
      x = run_segment(llama_.checkpoint_activations, *layer,
                      [=](const auto& inputs) { return layer->forward(inputs[0], rotation, cache, i); }, {x});
    }
    return norm->forward(x);
  }

  torch::Tensor logits(const torch::Tensor& x) const {
    return lm_head ? lm_head->forward(x) : torch::linear(x, embed_tokens->weight);
  }

  Llama llama_;
  Rotary rotary_;
  torch::nn::Embedding embed_tokens{nullptr};
  std::vector<std::shared_ptr<Layer>> layers_;
  std::shared_ptr<RmsNorm> norm;
  Linear lm_head{nullptr};
};

ModelFacts facts(const Llama&) { return {.tasks = {Task::language_model}, .pretrained_types = {"llama"}}; }

std::unique_ptr<Model> build(const Llama& settings, const ModelInputs& inputs) {
  Llama llama = settings;
  llama.vocabulary = vocabulary_size("llama", settings.vocabulary, inputs.data);
  llama.context = context_length("llama", settings.context, inputs.data);
  if (llama.key_heads == 0) llama.key_heads = llama.heads;
  if (llama.hidden == 0) llama.hidden = (llama.width * 8 / 3 + 63) / 64 * 64;
  return std::make_unique<LlamaModel>(llama);
}

const Registration<ModelKind> registration{
    "llama",
    "A language model with rotary positions and gated mlps; layers as in HuggingFace's LlamaForCausalLM.",
    &build};

}  // namespace
}  // namespace runner
