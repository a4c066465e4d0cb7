#include "components/models/weights/weight_names.hpp"

#include <stdexcept>

namespace runner {

void rename_all(NamedWeights& weights, const std::function<std::string(const std::string&)>& new_name) {
  NamedWeights renamed;
  for (auto& [name, tensor] : weights) renamed.emplace(new_name(name), std::move(tensor));
  weights = std::move(renamed);
}

void add_prefix(NamedWeights& weights, std::string_view prefix, const std::string& marker,
                std::string_view head) {
  if (!weights.contains(marker)) return;
  rename_all(weights, [&](const std::string& name) {
    return name.starts_with(head) ? name : std::string(prefix) + name;
  });
}

void settle_head(NamedWeights& weights, const std::string& head, const std::string& embedding, bool tied) {
  const auto own = weights.find(head), tokens = weights.find(embedding);
  if (tokens == weights.end()) return;
  if (own == weights.end()) {
    if (!tied) weights.emplace(head, tokens->second);
    return;
  }
  if (!tied) return;
  if (!torch::equal(own->second, tokens->second)) {
    throw std::runtime_error("The head in the file, " + head + ", differs from its embedding, " + embedding +
                             "; model.tied = false keeps both.");
  }
  weights.erase(own);
}

}  // namespace runner
