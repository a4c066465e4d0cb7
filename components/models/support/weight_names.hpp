#pragma once

#include <torch/types.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace runner {

using NamedWeights = std::map<std::string, torch::Tensor>;

// A model whose weights are written by other programs under more than its own names.
class WeightNames {
 public:
  virtual ~WeightNames() = default;

  // Brings what a file holds to the model's own names and shapes. Throws std::runtime_error where the file is
  // for a model of another structure.
  virtual void adapt(NamedWeights& weights) const = 0;
};

void rename_all(NamedWeights& weights, const std::function<std::string(const std::string&)>& new_name);

// Files of a bare network lack the prefix that it has inside a model with a head: where `marker` is there
// without it, every name but those that begin with `head` gets it.
void add_prefix(NamedWeights& weights, std::string_view prefix, const std::string& marker,
                std::string_view head);

// For a head that shares the weights of the token embedding, which some programs save and others do not.
// Throws std::runtime_error if the model's head is tied and the file has different weights for it.
void settle_head(NamedWeights& weights, const std::string& head, const std::string& embedding, bool tied);

}  // namespace runner
