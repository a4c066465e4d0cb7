#include <ATen/ops/rms_norm.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/embedding.h>

#include "components/layers/activation_checkpoint.hpp"
#include "components/layers/attention.hpp"
#include "components/layers/linear.hpp"
#include "components/layers/tanh_gelu.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/decoder_facts.hpp"
#include "components/models/language_model.hpp"
#include "components/models/weights/weight_names.hpp"
#include "registry/base/wording.hpp"

namespace runner {
namespace {

struct Decoder {
  std::optional<std::filesystem::path> config = {};
  std::int64_t context = 0;
  std::optional<double> dropout = {};
  bool checkpoint_activations = false;
};
constexpr auto describe(std::type_identity<Decoder>) {
  return fields(
      field("config", &Decoder::config,
            "The config.json that says what the model looks like, or its folder; default: beside weights."),
      field("context", &Decoder::context, "Maximum number of tokens; 0: as many as config.json says.",
            within(0, 1 << 24), changes_course()),
      field("dropout", &Decoder::dropout,
            "Dropout of embeddings, attention and the output of each sublayer; default: as config.json says.",
            within(0, 1), changes_course()),
      field("checkpoint_activations", &Decoder::checkpoint_activations, checkpoint_doc, harmless()));
}

Linear projection(const DecoderFacts& facts, std::int64_t in, std::int64_t out, bool bias) {
  return Linear(LinearOptions{.in = in, .out = out, .bias = bias, .std = facts.std});
}

class Norm : public torch::nn::Module {
 public:
  Norm(const DecoderFacts& facts, std::int64_t width) : epsilon_(facts.epsilon), one_plus_(facts.one_plus) {
    weight = register_parameter("weight", one_plus_ ? torch::zeros({width}) : torch::ones({width}));
    if (facts.layer_norm) bias = register_parameter("bias", torch::zeros({width}));
  }

  torch::Tensor forward(const torch::Tensor& x) const {
    if (bias.defined()) return torch::layer_norm(x, weight.sizes(), weight, bias, epsilon_);
    return at::rms_norm(x, weight.sizes(), one_plus_ ? weight + 1 : weight, epsilon_);
  }

 private:
  double epsilon_;
  bool one_plus_;
  torch::Tensor weight, bias;
};

// Null if the architecture has no such normalisation.
std::shared_ptr<Norm> norm(torch::nn::Module& parent, const std::string& name, const DecoderFacts& facts) {
  return name.empty() ? nullptr : parent.register_module(name, std::make_shared<Norm>(facts, facts.width));
}

torch::Tensor normed(const std::shared_ptr<Norm>& norm, const torch::Tensor& x) {
  return norm ? norm->forward(x) : x;
}

class SelfAttention : public torch::nn::Module {
 public:
  SelfAttention(const DecoderFacts& facts, std::size_t layer)
      : facts_(facts),
        rules_{facts.attention_scale, facts.attention_softcap, facts.windows[layer]},
        has_positions_(facts.rotary[layer]) {
    const DecoderNames& names = facts.names;
    const std::int64_t size = facts.head_size, wide = facts.heads * size, narrow = facts.kv_heads * size;
    const auto add = [&](const std::string& name, std::int64_t in, std::int64_t out, bool bias) {
      return register_module(name, projection(facts, in, out, bias));
    };
    if (names.qkv.empty()) {
      q = add(names.q, facts.width, wide, facts.qkv_bias);
      k = add(names.k, facts.width, narrow, facts.qkv_bias);
      v = add(names.v, facts.width, narrow, facts.qkv_bias);
    } else {
      qkv = add(names.qkv, facts.width, wide + 2 * narrow, facts.qkv_bias);
    }
    o = add(names.o, wide, facts.width, facts.o_bias);
    if (facts.qk_norm == DecoderFacts::QkNorm::none) return;
    const bool by_head = facts.qk_norm == DecoderFacts::QkNorm::heads;
    q_norm = register_module("q_norm", std::make_shared<Norm>(facts, by_head ? size : wide));
    k_norm = register_module("k_norm", std::make_shared<Norm>(facts, by_head ? size : narrow));
  }

  torch::Tensor forward(const torch::Tensor& x, const Rotation& rotation, KvCache* cache, std::size_t layer) {
    auto [query, key, value] = heads_of(x);
    if (has_positions_) {
      query = turned(query, rotation);
      key = turned(key, rotation);
    }
    const double dropout = is_training() ? facts_.attention_dropout : 0;
    return o(join_heads(attend_causally(query, key, value, dropout, cache, layer, rules_)));
  }

 private:
  struct Heads {
    torch::Tensor query, key, value;
  };

  Heads heads_of(const torch::Tensor& x) {
    if (!qkv.is_empty() && facts_.qkv_by_head) {
      const auto parts = split_heads(qkv(x), facts_.heads).chunk(3, -1);
      return {parts[0], parts[1], parts[2]};
    }
    torch::Tensor query, key, value;
    if (!qkv.is_empty()) {
      const std::int64_t size = facts_.head_size;
      const auto parts =
          qkv(x).split_with_sizes({facts_.heads * size, facts_.kv_heads * size, facts_.kv_heads * size}, -1);
      query = parts[0], key = parts[1], value = parts[2];
    } else {
      query = q(x), key = k(x), value = v(x);
    }
    const bool whole = facts_.qk_norm == DecoderFacts::QkNorm::width;
    if (whole) query = q_norm->forward(query), key = k_norm->forward(key);
    query = split_heads(query, facts_.heads), key = split_heads(key, facts_.kv_heads);
    if (q_norm && !whole) query = q_norm->forward(query), key = k_norm->forward(key);
    return {query, key, split_heads(value, facts_.kv_heads)};
  }

  torch::Tensor turned(const torch::Tensor& x, const Rotation& rotation) const {
    if (facts_.rotated == facts_.head_size) return rotated(x, rotation);
    const auto first = x.narrow(-1, 0, facts_.rotated);
    const auto rest = x.narrow(-1, facts_.rotated, facts_.head_size - facts_.rotated);
    return torch::cat({rotated(first, rotation), rest}, -1);
  }

  const DecoderFacts& facts_;
  AttentionRules rules_;
  bool has_positions_;
  Linear q{nullptr}, k{nullptr}, v{nullptr}, qkv{nullptr}, o{nullptr};
  std::shared_ptr<Norm> q_norm, k_norm;
};

class Mlp : public torch::nn::Module {
 public:
  explicit Mlp(const DecoderFacts& facts) : facts_(facts) {
    const auto add = [&](const std::string& name, std::int64_t in, std::int64_t out) {
      return name.empty() ? Linear(nullptr)
                          : Linear(register_module(name, projection(facts, in, out, facts.mlp_bias)));
    };
    gate_up = add(facts.names.gate_up, facts.width, 2 * facts.hidden);
    gate = add(facts.names.gate, facts.width, facts.hidden);
    up = add(facts.names.up, facts.width, facts.hidden);
    down = add(facts.names.down, facts.hidden, facts.width);
  }

  torch::Tensor forward(const torch::Tensor& x) {
    if (!gate_up.is_empty()) {
      const auto halves = gate_up(x).chunk(2, -1);
      return down(activate(halves[0]) * halves[1]);
    }
    if (gate.is_empty()) return down(activate(up(x)));
    return down(activate(gate(x)) * up(x));
  }

 private:
  torch::Tensor activate(const torch::Tensor& x) const {
    switch (facts_.activation) {
      case DecoderActivation::silu: return torch::silu(x);
      case DecoderActivation::gelu: return torch::gelu(x);
      case DecoderActivation::gelu_tanh: return tanh_gelu(x);
      case DecoderActivation::relu: return torch::relu(x);
    }
    return x;
  }

  const DecoderFacts& facts_;
  Linear gate_up{nullptr}, gate{nullptr}, up{nullptr}, down{nullptr};
};

class Layer : public torch::nn::Module {
 public:
  Layer(const DecoderFacts& facts, std::size_t layer)
      : facts_(facts),
        attention(register_module(facts.names.attention, std::make_shared<SelfAttention>(facts, layer))),
        mlp(register_module("mlp", std::make_shared<Mlp>(facts))),
        before_attention(norm(*this, facts.names.before_attention, facts)),
        after_attention(norm(*this, facts.names.after_attention, facts)),
        before_mlp(norm(*this, facts.names.before_mlp, facts)),
        after_mlp(norm(*this, facts.names.after_mlp, facts)) {}

  torch::Tensor forward(const torch::Tensor& x, const Rotation& rotation, KvCache* cache, std::size_t layer) {
    const auto attended = added(
        normed(after_attention, attention->forward(normed(before_attention, x), rotation, cache, layer)));
    if (facts_.parallel) return added(mlp->forward(normed(before_mlp, x))) + attended + x;
    const auto middle = x + attended;
    return middle + added(normed(after_mlp, mlp->forward(normed(before_mlp, middle))));
  }

 private:
  torch::Tensor added(const torch::Tensor& x) const {
    const auto dropped =
        facts_.residual_dropout > 0 ? torch::dropout(x, facts_.residual_dropout, is_training()) : x;
    return facts_.residual_scale != 1 ? dropped * facts_.residual_scale : dropped;
  }

  const DecoderFacts& facts_;
  std::shared_ptr<SelfAttention> attention;
  std::shared_ptr<Mlp> mlp;
  std::shared_ptr<Norm> before_attention, after_attention, before_mlp, after_mlp;
};

// Any decoder that its facts describe, with the names of HuggingFace's model of that type.
class DecoderModel : public LanguageModel, public WeightNames, public Pretrained {
 public:
  DecoderModel(DecoderFacts facts, const Decoder& settings, std::int64_t longest)
      : facts_(std::make_unique<const DecoderFacts>(std::move(facts))),
        checkpoint_(settings.checkpoint_activations),
        context_(settings.context > 0 ? settings.context : facts_->positions),
        rotary_(longest, facts_->rotated, facts_->theta, facts_->scaling) {
    if (facts_->window_theta)
      window_rotary_.emplace(longest, facts_->rotated, *facts_->window_theta, facts_->window_scaling);
    const DecoderNames& names = facts_->names;
    auto body = register_module(names.body, std::make_shared<torch::nn::Module>());
    embedding =
        body->register_module(names.embedding, torch::nn::Embedding(facts_->vocabulary, facts_->width));
    torch::nn::init::normal_(embedding->weight, 0, facts_->std);
    auto layers = body->register_module("layers", std::make_shared<torch::nn::Module>());
    for (std::size_t i = 0; i < static_cast<std::size_t>(facts_->layers); ++i)
      layers_.push_back(layers->register_module(std::to_string(i), std::make_shared<Layer>(*facts_, i)));
    final_norm = norm(*body, names.final_norm, *facts_);
    if (!facts_->tied)
      head = register_module(head_name, projection(*facts_, facts_->width, facts_->vocabulary, false));
  }

  torch::Tensor forward(const Batch& batch) override { return logits(hidden(batch.input, nullptr)); }

  torch::Tensor next(const torch::Tensor& tokens, KvCache& cache) override {
    const auto last = hidden(tokens, &cache).select(1, -1);
    cache.length += tokens.size(1);
    return logits(last);
  }

  std::int64_t context() const override { return context_; }
  std::int64_t vocabulary() const override { return facts_->vocabulary; }

  std::vector<std::string> adapter_targets() const override {
    const DecoderNames& names = facts_->names;
    return names.qkv.empty() ? std::vector<std::string>{names.q, names.v}
                             : std::vector<std::string>{names.qkv};
  }

  void adapt(NamedWeights& weights) const override {
    const DecoderNames& names = facts_->names;
    rename_all(weights, [&](const std::string& name) {  // gpt_neox until transformers 5
      return name == "embed_out.weight" ? std::string(head_name) + ".weight" : name;
    });
    add_prefix(weights, names.body + ".", names.embedding + ".weight", std::string(head_name) + ".");
    // Old files also hold the frequencies of the rotary positions and the causal mask of each layer.
    std::erase_if(weights, [](const auto& entry) {
      return entry.first.ends_with("rotary_emb.inv_freq") || entry.first.ends_with(".attention.bias") ||
             entry.first.ends_with(".attention.masked_bias");
    });
    settle_head(weights, std::string(head_name) + ".weight", names.body + "." + names.embedding + ".weight",
                facts_->tied);
  }

  void compare(PretrainedConfig& config) const override { config.kind(facts_->model_type); }

 private:
  static constexpr const char* head_name = "lm_head";

  torch::Tensor hidden(const torch::Tensor& tokens, KvCache* cache) {
    const std::int64_t before = cache ? cache->length : 0;
    require_positions("decoder", before + tokens.size(1), context_);
    auto x = embedding(tokens);
    if (facts_->embedding_scale != 1) x = x * facts_->embedding_scale;
    if (facts_->embedding_dropout > 0) x = torch::dropout(x, facts_->embedding_dropout, is_training());
    const Rotation rotation = rotary_.at(before, tokens.size(1), x.device());
    const Rotation in_window =
        window_rotary_ ? window_rotary_->at(before, tokens.size(1), x.device()) : rotation;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto& layer = layers_[i];
      const Rotation& own = facts_->windows[i] > 0 ? in_window : rotation;
      x = run_segment(checkpoint_, *layer,
                      [=](const auto& inputs) { return layer->forward(inputs[0], own, cache, i); }, {x});
    }
    return final_norm->forward(x);
  }

  torch::Tensor logits(const torch::Tensor& x) {
    auto scores = head ? head(x) : torch::linear(x, embedding->weight);
    if (facts_->logit_divisor != 1) scores = scores / facts_->logit_divisor;
    if (facts_->final_softcap == 0) return scores;
    return torch::tanh(scores / facts_->final_softcap) * facts_->final_softcap;
  }

  std::unique_ptr<const DecoderFacts> facts_;  // at one place: the layers refer to it
  bool checkpoint_;
  std::int64_t context_;
  Rotary rotary_;
  std::optional<Rotary> window_rotary_;
  torch::nn::Embedding embedding{nullptr};
  std::vector<std::shared_ptr<Layer>> layers_;
  std::shared_ptr<Norm> final_norm;
  Linear head{nullptr};
};

ModelFacts facts(const Decoder&) {
  return {.tasks = {Task::language_model}, .pretrained_types = decoder_types()};
}

[[noreturn]] void fail(const std::string& why) {
  throw std::runtime_error("Model \"decoder\": " + why + ".");
}

std::unique_ptr<Model> build(const Decoder& settings, const ModelInputs& inputs) {
  const auto& place = settings.config ? settings.config : inputs.weights;
  if (!place)
    fail(
        "model.weights must be a folder written by HuggingFace's save_pretrained, whose config.json says "
        "what "
        "the model looks like; model.config = \"config.json\" trains one from the start");
  const auto config = PretrainedConfig::beside(*place);
  if (!config) fail("there is no config.json of a model in " + in_quotes(place->string()));
  DecoderFacts facts = decoder_facts(*config);
  const DataSpec& data = inputs.data;
  vocabulary_size("decoder", facts.vocabulary, data);
  const std::int64_t longest = context_length("decoder", settings.context, data);
  const bool dynamic = facts.scaling && facts.scaling->type == RopeType::dynamic;
  if (longest > facts.positions && !dynamic)
    fail("the dataset's examples have " + std::to_string(longest) + " tokens, but config.json allows " +
         std::to_string(facts.positions) + "; shorten them with dataset.length");
  if (settings.dropout)
    facts.embedding_dropout = facts.attention_dropout = facts.residual_dropout = *settings.dropout;
  return std::make_unique<DecoderModel>(std::move(facts), settings, longest);
}

const Registration<ModelKind> registration{
    "decoder",
    "A language model as its config.json describes it: llama, mistral, qwen2, qwen3, gemma, phi3 and others.",
    &build};

}  // namespace
}  // namespace runner
