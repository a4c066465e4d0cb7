#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "components/layers/rotary.hpp"
#include "components/models/weights/pretrained_config.hpp"

namespace runner {

enum class DecoderActivation { silu, gelu, gelu_tanh, relu };

// The names that an architecture gives its layers; empty: it has no such layer.
struct DecoderNames {
  std::string body = "model", embedding = "embed_tokens", final_norm = "norm", attention = "self_attn";
  std::string q = "q_proj", k = "k_proj", v = "v_proj", qkv = {}, o = "o_proj";
  std::string gate = "gate_proj", up = "up_proj", gate_up = {}, down = "down_proj";
  std::string before_attention = "input_layernorm", after_attention = {};
  std::string before_mlp = "post_attention_layernorm", after_mlp = {};
};

// What distinguishes one decoder from another.
struct DecoderFacts {
  enum class QkNorm { none, heads, width };  // heads: each head by itself, width: all heads together

  std::string model_type;
  DecoderNames names = {};
  std::int64_t layers = 0, heads = 0, kv_heads = 0, head_size = 0, width = 0, hidden = 0;
  std::int64_t vocabulary = 0, positions = 0;
  bool tied = false;

  double epsilon = 1e-6;
  bool layer_norm = false;  // otherwise RMS
  bool one_plus = false;    // the weight of a normalisation is stored less 1
  QkNorm qk_norm = QkNorm::none;
  bool parallel = false;  // attention and mlp both read the input of the layer

  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  bool qkv_by_head = false;  // a fused projection holds q, k, v of one head after the other
  DecoderActivation activation = DecoderActivation::silu;

  std::optional<double> attention_scale = {};
  double attention_softcap = 0, final_softcap = 0;
  double embedding_scale = 1, residual_scale = 1, logit_divisor = 1;

  double theta = 10000;
  std::optional<RopeScaling> scaling = {};
  std::int64_t rotated = 0;                 // numbers of each head that are rotated
  std::optional<double> window_theta = {};  // of layers with a window, which are not scaled
  std::optional<RopeScaling> window_scaling = {};
  std::vector<std::int64_t> windows = {};  // of each layer; 0: it sees everything before
  std::vector<bool> rotary = {};           // whether a layer has positions

  double embedding_dropout = 0, attention_dropout = 0, residual_dropout = 0;
  double std = 0.02;
};

// The values of "model_type" that are covered.
std::vector<std::string> decoder_types();

// Throws std::runtime_error that names the key if config.json asks for what is not covered.
DecoderFacts decoder_facts(PretrainedConfig config);

}  // namespace runner
