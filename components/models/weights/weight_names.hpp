#pragma once

#include <torch/types.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace runner {

using NamedWeights = std::map<std::string, torch::Tensor>;

// A model whose weights other programs also write under other names.
class WeightNames {
 public:
  virtual ~WeightNames() = default;

  // Converts the weights of a file to the model's own names and shapes. Throws std::runtime_error if the file
  // is for a model of another structure.
  virtual void adapt(NamedWeights& weights) const = 0;
};

void rename_all(NamedWeights& weights, const std::function<std::string(const std::string&)>& new_name);

// Files of a network without its head lack the prefix that names have in a model with a head. If there is a
// tensor `marker`, adds the prefix to every name that does not begin with `head`.
void add_prefix(NamedWeights& weights, std::string_view prefix, const std::string& marker,
                std::string_view head);

// Some programs save a head that shares the weights of the token embedding, others do not. Removes it if the
// model's head is tied, and adds it if it is not.
// Throws std::runtime_error if the model's head is tied and the file has different weights for it.
void settle_head(NamedWeights& weights, const std::string& head, const std::string& embedding, bool tied);

}  // namespace runner
