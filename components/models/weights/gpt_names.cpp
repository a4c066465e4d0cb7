#include "components/models/weights/gpt_names.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace runner {

namespace {

// Old files also hold the causal mask of each layer.
bool is_mask(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

bool is_linear(std::string_view name) {
  constexpr std::array<std::string_view, 4> layers{".attn.c_attn.weight", ".attn.c_proj.weight",
                                                   ".mlp.c_fc.weight", ".mlp.c_proj.weight"};
  return std::ranges::any_of(layers, [&](std::string_view layer) { return name.ends_with(layer); });
}

}  // namespace

void to_gpt_names(NamedWeights& weights, bool tied) {
  constexpr std::string_view compiled = "_orig_mod.";
  rename_all(weights, [&](const std::string& name) {
    return name.starts_with(compiled) ? name.substr(compiled.size()) : name;
  });
  add_prefix(weights, "transformer.", "wte.weight", "lm_head.");
  std::erase_if(weights, [](const auto& entry) { return is_mask(entry.first); });

  // The shape of c_attn, which is not square, shows whether all linear layers are transposed.
  const auto widest = weights.find("transformer.h.0.attn.c_attn.weight");
  if (widest != weights.end() && widest->second.dim() == 2 &&
      widest->second.size(0) == 3 * widest->second.size(1)) {
    for (auto& [name, tensor] : weights) {
      if (is_linear(name) && tensor.dim() == 2) tensor = tensor.t();
    }
  }
  settle_head(weights, "lm_head.weight", "transformer.wte.weight", tied);
}

}  // namespace runner
