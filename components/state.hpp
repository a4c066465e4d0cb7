#pragma once

#include <torch/types.h>

#include <map>
#include <string>

namespace runner {

// What a stateful part writes into a checkpoint and takes back: named tensors and named numbers, nothing
// opaque.
struct State {
  std::map<std::string, torch::Tensor> tensors = {};
  std::map<std::string, double> numbers = {};
};

}  // namespace runner
