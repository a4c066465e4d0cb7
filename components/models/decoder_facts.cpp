#include "components/models/decoder_facts.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "components/models/weights/pretrained_rope.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

using Json = nlohmann::json;

// HuggingFace's defaults for keys that a file does not have. Sizes have none: a file without them is damaged.
struct Defaults {
  double theta = 10000;
  double epsilon = 1e-6;
  bool tied = false;
  const char* activation = "silu";
  const char* norm_key = "rms_norm_eps";
};

struct Architecture {
  const char* type;
  Defaults defaults = {};
  DecoderNames names = {};
  std::function<void(DecoderFacts&, PretrainedConfig&)> facts = [](DecoderFacts&, PretrainedConfig&) {};
};

void bias_by_key(DecoderFacts& facts, const PretrainedConfig& config) {
  facts.qkv_bias = facts.o_bias = config.flag("attention_bias", false);
  facts.mlp_bias = config.flag("mlp_bias", false);
}

// null switches the window off; without the key it has HuggingFace's default.
std::int64_t window_of(const PretrainedConfig& config, std::int64_t usual) {
  return config.json().contains("sliding_window") ? config.integer("sliding_window", 0) : usual;
}

void window_everywhere(DecoderFacts& facts, const PretrainedConfig& config, std::int64_t usual = 0) {
  facts.windows.assign(facts.windows.size(), window_of(config, usual));
}

void gemma_like(DecoderFacts& facts, const PretrainedConfig& config) {
  bias_by_key(facts, config);
  facts.one_plus = true;
  facts.embedding_scale = std::sqrt(static_cast<double>(facts.width));
}

DecoderNames with_four_norms() {
  DecoderNames names;
  names.after_attention = "post_attention_layernorm";
  names.before_mlp = "pre_feedforward_layernorm";
  names.after_mlp = "post_feedforward_layernorm";
  return names;
}

void gemma_2_and_3(DecoderFacts& facts, const PretrainedConfig& config) {
  gemma_like(facts, config);
  facts.attention_scale = 1 / std::sqrt(config.number("query_pre_attn_scalar", 256));
  facts.attention_softcap = config.number("attn_logit_softcapping", 0);
  facts.final_softcap = config.number("final_logit_softcapping", 0);
}

DecoderNames olmo2_names() {
  DecoderNames names = with_four_norms();
  names.before_attention = names.before_mlp = "";
  return names;
}

DecoderNames phi3_names() {
  DecoderNames names;
  names.q = names.k = names.v = names.gate = names.up = "";
  names.qkv = "qkv_proj";
  names.gate_up = "gate_up_proj";
  return names;
}

DecoderNames starcoder2_names() {
  DecoderNames names;
  names.gate = "";
  names.up = "c_fc";
  names.down = "c_proj";
  return names;
}

DecoderNames gpt_neox_names() {
  DecoderNames names;
  names.body = "gpt_neox";
  names.embedding = "embed_in";
  names.final_norm = "final_layer_norm";
  names.attention = "attention";
  names.q = names.k = names.v = names.gate = "";
  names.qkv = "query_key_value";
  names.o = "dense";
  names.up = "dense_h_to_4h";
  names.down = "dense_4h_to_h";
  return names;
}

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all{
      {"llama",
       {},
       {},
       [](auto& facts, auto& config) {
         bias_by_key(facts, config);
         config.only("pretraining_tp", {"1"});
       }},
      {"mistral", {}, {}, [](auto& facts, auto& config) { window_everywhere(facts, config, 4096); }},
      {"qwen2", {}, {}, [](auto& facts, auto&) { facts.qkv_bias = true; }},
      {"qwen3",
       {},
       {},
       [](auto& facts, auto& config) {
         bias_by_key(facts, config);
         facts.qk_norm = DecoderFacts::QkNorm::heads;
       }},
      {"gemma",
       {.tied = true, .activation = "gelu_pytorch_tanh"},
       {},
       [](auto& facts, auto& config) { gemma_like(facts, config); }},
      {"gemma2",
       {.tied = true, .activation = "gelu_pytorch_tanh"},
       with_four_norms(),
       [](auto& facts, auto& config) { gemma_2_and_3(facts, config); }},
      {"gemma3_text",
       {.theta = 1e6, .tied = true, .activation = "gelu_pytorch_tanh"},
       with_four_norms(),
       [](auto& facts, auto& config) {
         gemma_2_and_3(facts, config);
         facts.qk_norm = DecoderFacts::QkNorm::heads;
         facts.window_theta = config.number("rope_local_base_freq", 10000);
       }},
      {"phi3",
       {.epsilon = 1e-5},
       phi3_names(),
       [](auto& facts, auto& config) {
         window_everywhere(facts, config);
         facts.embedding_dropout = config.number("embd_pdrop", 0);
         facts.residual_dropout = config.number("resid_pdrop", 0);
       }},
      {"smollm3",
       {.theta = 2e6, .tied = true},
       {},
       [](auto& facts, auto& config) { bias_by_key(facts, config); }},
      {"olmo2",
       {.epsilon = 1e-5},
       olmo2_names(),
       [](auto& facts, auto& config) {
         bias_by_key(facts, config);
         facts.qk_norm = DecoderFacts::QkNorm::width;
       }},
      {"starcoder2",
       {.epsilon = 1e-5, .tied = true, .activation = "gelu_pytorch_tanh", .norm_key = "norm_epsilon"},
       starcoder2_names(),
       [](auto& facts, auto& config) {
         facts.layer_norm = true;
         facts.qkv_bias = facts.o_bias = facts.mlp_bias = config.flag("use_bias", true);
         window_everywhere(facts, config);
         facts.embedding_dropout = config.number("embedding_dropout", 0);
         facts.residual_dropout = config.number("residual_dropout", 0);
       }},
      {"gpt_neox",
       {.epsilon = 1e-5, .activation = "gelu", .norm_key = "layer_norm_eps"},
       gpt_neox_names(),
       [](auto& facts, auto& config) {
         facts.layer_norm = facts.mlp_bias = facts.qkv_by_head = true;
         facts.qkv_bias = facts.o_bias = config.flag("attention_bias", true);
         facts.parallel = config.flag("use_parallel_residual", true);
         facts.embedding_dropout = facts.residual_dropout = config.number("hidden_dropout", 0);
       }},
      {"granite",
       {},
       {},
       [](auto& facts, auto& config) {
         bias_by_key(facts, config);
         facts.attention_scale = config.number("attention_multiplier", 1);
         facts.embedding_scale = config.number("embedding_multiplier", 1);
         facts.residual_scale = config.number("residual_multiplier", 1);
         facts.logit_divisor = config.number("logits_scaling", 1);
       }},
  };
  return all;
}

DecoderActivation activation_of(PretrainedConfig& config, const char* usual) {
  const char* key = config.find("hidden_activation") ? "hidden_activation" : "hidden_act";
  const std::string word = config.text(key, usual);
  if (word == "silu" || word == "swish") return DecoderActivation::silu;
  if (word == "gelu") return DecoderActivation::gelu;
  if (word == "gelu_pytorch_tanh" || word == "gelu_new" || word == "gelu_fast")
    return DecoderActivation::gelu_tanh;
  if (word == "relu") return DecoderActivation::relu;
  config.cannot(std::string(key) + " = " + in_quotes(word));
  return DecoderActivation::silu;
}

std::int64_t size_of(const PretrainedConfig& config, const std::string& key) {
  const std::int64_t size = config.integer(key, 0);
  if (size < 1 || size > (std::int64_t{1} << 31))
    throw std::runtime_error("config.json: " + key + " must be a number from 1 on.");
  return size;
}

// "layer_types" says which layers have a window; older files have other keys for it.
void read_layer_types(DecoderFacts& facts, PretrainedConfig& config) {
  const std::int64_t window = window_of(config, facts.model_type == "smollm3" ? 0 : 4096);
  const auto slides = [&](std::int64_t layer) -> bool {
    if (const Json* types = config.find("layer_types"); types && types->is_array()) {
      const Json type = static_cast<std::size_t>(layer) < types->size()
                            ? (*types)[static_cast<std::size_t>(layer)]
                            : Json();
      if (type != "sliding_attention" && type != "full_attention")
        config.cannot("layer_types with " + escaped_name(type.dump()));
      return type == "sliding_attention";
    }
    if (facts.model_type == "gemma2") return layer % 2 == 0;
    if (facts.model_type == "gemma3_text")
      return (layer + 1) % std::max<std::int64_t>(config.integer("sliding_window_pattern", 6), 1) != 0;
    return config.flag("use_sliding_window", false) && layer >= config.integer("max_window_layers", 28);
  };
  const bool mixed = facts.model_type.starts_with("qwen") || facts.model_type.starts_with("gemma") ||
                     facts.model_type == "smollm3";
  for (std::int64_t i = 0; i < facts.layers; ++i)
    facts.windows.push_back(mixed && window > 0 && slides(i) ? window : 0);
}

void read_rotary(DecoderFacts& facts, PretrainedConfig& config, const Defaults& defaults) {
  Json rope = rope_of(config);
  if (rope.contains("sliding_attention") && rope["sliding_attention"].is_object()) {
    const PretrainedRope local =
        read_rope(config, rope["sliding_attention"], facts.window_theta.value_or(10000));
    if (!local.unsupported.empty()) config.cannot(local.unsupported);
    facts.window_theta = local.theta;
    facts.window_scaling = local.scaling;
  }
  if (rope.contains("full_attention") && rope["full_attention"].is_object())
    rope = Json(rope["full_attention"]);
  if (!rope.contains("partial_rotary_factor"))
    rope["partial_rotary_factor"] = config.number("partial_rotary_factor", config.number("rotary_pct", 1));
  const double theta = config.number("rope_theta", config.number("rotary_emb_base", defaults.theta));
  const PretrainedRope read = read_rope(config, rope, theta);
  if (!read.unsupported.empty()) config.cannot(read.unsupported);
  facts.theta = read.theta;
  facts.scaling = read.scaling;
  facts.rotated = static_cast<std::int64_t>(static_cast<double>(facts.head_size) * read.part);
  if (facts.rotated < 2 || facts.rotated % 2 != 0 || facts.rotated > facts.head_size)
    config.cannot("rotary positions for " + std::to_string(facts.rotated) + " of " +
                  std::to_string(facts.head_size) + " numbers of a head");
  facts.rotary.assign(static_cast<std::size_t>(facts.layers), true);
  const bool skips = facts.model_type == "smollm3";
  const std::int64_t every = config.integer("no_rope_layer_interval", 4);
  const Json* layers = config.find("no_rope_layers");  // 1: the layer does have positions
  for (std::size_t i = 0; skips && i < facts.rotary.size(); ++i)
    facts.rotary[i] = layers && layers->is_array() && i < layers->size()
                          ? (*layers)[i] == 1
                          : every < 1 || (static_cast<std::int64_t>(i) + 1) % every != 0;
}

}  // namespace

std::vector<std::string> decoder_types() {
  std::vector<std::string> types;
  for (const Architecture& each : architectures()) types.emplace_back(each.type);
  return types;
}

DecoderFacts decoder_facts(PretrainedConfig config) {
  const Json& named = *config.find("model_type");
  const Architecture* found = nullptr;
  for (const Architecture& each : architectures())
    if (named == each.type) found = &each;
  if (!found)
    throw std::runtime_error("Model \"decoder\": config.json has model_type = " + escaped_name(named.dump()) +
                             "; covered are " + joined(decoder_types()) + ".");
  const Defaults& defaults = found->defaults;
  DecoderFacts facts;
  facts.model_type = found->type;
  facts.names = found->names;
  facts.layers = size_of(config, "num_hidden_layers");
  facts.heads = size_of(config, "num_attention_heads");
  facts.kv_heads = config.integer("num_key_value_heads", facts.heads);
  facts.width = size_of(config, "hidden_size");
  facts.hidden = size_of(config, "intermediate_size");
  facts.vocabulary = size_of(config, "vocab_size");
  facts.positions = config.integer("max_position_embeddings", 2048);
  facts.head_size = config.integer("head_dim", facts.width / facts.heads);
  if (facts.kv_heads < 1 || facts.heads % facts.kv_heads != 0 || facts.head_size < 2)
    throw std::runtime_error("config.json: num_key_value_heads must divide num_attention_heads.");
  facts.tied = config.flag("tie_word_embeddings", defaults.tied);
  facts.epsilon = config.number(defaults.norm_key, defaults.epsilon);
  facts.attention_dropout = config.number("attention_dropout", 0);
  facts.std = config.number("initializer_range", 0.02);
  facts.activation = activation_of(config, defaults.activation);
  config.only("use_bidirectional_attention", {"false"});
  config.only("quantization_config", {});
  read_layer_types(facts, config);
  found->facts(facts, config);
  read_rotary(facts, config, defaults);
  config.require_possible();
  return facts;
}

}  // namespace runner
