#pragma once

#include <torch/types.h>

#include <map>
#include <string>

namespace runner {

// What goes through the model at once: the first dimension of every tensor is the example.
struct Batch {
  torch::Tensor input;
  torch::Tensor target;
  std::map<std::string, torch::Tensor> extra =
      {};  // whatever else a dataset gives and a model asks for, by name

  std::int64_t size() const { return input.defined() ? input.size(0) : 0; }
};

}  // namespace runner
