#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runner/engine/engine.hpp"

namespace runner {

// Puts other weights into the engine's model; its own come back when this is destroyed.
class SwappedWeights {
 public:
  SwappedWeights(Engine& engine, const std::map<std::string, torch::Tensor>& tensors);
  ~SwappedWeights();
  SwappedWeights(const SwappedWeights&) = delete;
  SwappedWeights& operator=(const SwappedWeights&) = delete;

 private:
  std::vector<std::pair<torch::Tensor, torch::Tensor>> kept_;  // of the model, and what was in it
};

}  // namespace runner
