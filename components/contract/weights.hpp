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

// Read access to a model's weights, for hooks. A rank may hold all of a parameter, or a slice of it.
class Weights {
 public:
  virtual ~Weights() = default;

  // What this rank holds of each parameter and of each buffer. These are the tensors that are trained, so
  // their values change. Compute only element by element: a tensor may be a slice.
  virtual std::vector<NamedTensor> held_parameters() const = 0;
  virtual std::vector<NamedTensor> held_buffers() const = 0;

  // Visits each parameter as a whole, with its gradient (undefined if there is none). The tensors are only
  // valid during the call. Every rank has to call it.
  using Visit =
      std::function<void(const std::string& name, const torch::Tensor& value, const torch::Tensor& gradient)>;
  virtual void visit(const Visit& visit) const = 0;

  virtual std::vector<std::string> parameter_names() const = 0;
  virtual bool trained(const std::string& name) const = 0;  // not frozen at present
};

// Weights that a hook keeps in addition to the trained ones, such as averages. Every evaluation also
// evaluates them, as "<name>/accuracy", and they are saved as <name>.safetensors.
struct KeptWeights {
  std::string name;
  std::map<std::string, torch::Tensor> tensors =
      {};                               // as held_parameters() and held_buffers(); empty: none yet
  std::int64_t statistics_batches = 0;  // training batches to recompute batch-norm statistics from
};

}  // namespace runner
