#pragma once

#include <torch/types.h>

#include <map>
#include <string>

namespace runner {

// The examples of one forward pass: the first dimension of every tensor is the example.
struct Batch {
  torch::Tensor input;
  torch::Tensor target;
  std::map<std::string, torch::Tensor> extra =
      {};  // further tensors that a dataset provides and a model uses, by name

  std::int64_t size() const { return input.defined() ? input.size(0) : 0; }
};

}  // namespace runner
