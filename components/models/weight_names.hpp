#pragma once

#include <torch/types.h>

#include <map>
#include <string>

namespace runner {

// A model whose weights are written by other programs under more than its own names.
class WeightNames {
 public:
  virtual ~WeightNames() = default;

  // Brings what a file holds to the model's own names and shapes. Throws std::runtime_error where the file is
  // for a model of another structure.
  virtual void adapt(std::map<std::string, torch::Tensor>& weights) const = 0;
};

}  // namespace runner
