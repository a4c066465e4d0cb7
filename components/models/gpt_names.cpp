#include "components/models/gpt_names.hpp"

#include <array>
#include <stdexcept>
#include <string_view>

namespace runner {

namespace {

using Weights = std::map<std::string, torch::Tensor>;

constexpr std::string_view prefix = "transformer.", compiled = "_orig_mod.", head = "lm_head.weight";

void rename_all(Weights& weights, auto new_name) {
  Weights renamed;
  for (auto& [name, tensor] : weights) renamed.emplace(new_name(name), std::move(tensor));
  weights = std::move(renamed);
}

// Old files hold each layer's causal mask too.
bool is_mask(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

bool is_linear(std::string_view name) {
  constexpr std::array<std::string_view, 4> layers{".attn.c_attn.weight", ".attn.c_proj.weight",
                                                   ".mlp.c_fc.weight", ".mlp.c_proj.weight"};
  return std::ranges::any_of(layers, [&](std::string_view layer) { return name.ends_with(layer); });
}

}  // namespace

void to_gpt_names(Weights& weights, bool tied) {
  rename_all(weights, [](const std::string& name) {
    return name.starts_with(compiled) ? name.substr(compiled.size()) : name;
  });
  if (weights.contains("wte.weight")) {
    rename_all(weights,
               [](const std::string& name) { return name == head ? name : std::string(prefix) + name; });
  }
  std::erase_if(weights, [](const auto& entry) { return is_mask(entry.first); });

  // The widest of the linear layers tells which way round all of them are.
  const auto widest = weights.find("transformer.h.0.attn.c_attn.weight");
  if (widest != weights.end() && widest->second.dim() == 2 &&
      widest->second.size(0) == 3 * widest->second.size(1)) {
    for (auto& [name, tensor] : weights) {
      if (is_linear(name) && tensor.dim() == 2) tensor = tensor.t();
    }
  }

  const auto own_head = weights.find(std::string(head));
  const auto embedding = weights.find("transformer.wte.weight");
  if (embedding == weights.end()) return;
  if (!tied && own_head == weights.end()) weights.emplace(head, embedding->second);
  if (!tied || own_head == weights.end()) return;
  if (!torch::equal(own_head->second, embedding->second)) {
    throw std::runtime_error(
        "The file has a head, lm_head.weight, that is not its embedding transformer.wte.weight; "
        "model.tied = false keeps both.");
  }
  weights.erase(own_head);
}

}  // namespace runner
