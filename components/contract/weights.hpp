#pragma once

#include <torch/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace runner {

struct NamedTensor {
  std::string name;
  torch::Tensor tensor;
};

// A model's weights for those who look at them or keep copies of them. The engine says where they are: a rank
// may hold all of a parameter, or a slice of it.
class Weights {
 public:
  virtual ~Weights() = default;

  // What this rank holds of each parameter and of each buffer. The tensors are the training's own: follow
  // them, and compute element by element.
  virtual std::vector<NamedTensor> held_parameters() const = 0;
  virtual std::vector<NamedTensor> held_buffers() const = 0;

  // One parameter after another, whole, with its gradient; undefined where it has none. Only valid during the
  // call. On several ranks, every rank has to take part.
  using Visit =
      std::function<void(const std::string& name, const torch::Tensor& value, const torch::Tensor& gradient)>;
  virtual void visit(const Visit& visit) const = 0;

  virtual std::vector<std::string> parameter_names() const = 0;
  virtual bool trained(const std::string& name) const = 0;  // now
};

// Weights that a hook keeps beside those that are trained: averages. They are swapped in for a while to be
// measured as "<name>/accuracy" with every evaluation, and saved as <name>.safetensors.
struct KeptWeights {
  std::string name;
  std::map<std::string, torch::Tensor> tensors =
      {};                               // as held_parameters() and held_buffers(); empty: none yet
  std::int64_t statistics_batches = 0;  // training batches that batch-norm statistics are computed from anew
};

}  // namespace runner
