#pragma once

#include <exception>

#include "components/contract/weights.hpp"
#include "components/precisions/precision.hpp"
#include "runner/engine/runtime/generators.hpp"
#include "runner/engine/runtime/saved_tensors.hpp"

namespace runner {

// Whether the error says that an allocation failed, on a GPU or in main memory.
bool is_out_of_memory(const std::exception& error);

// Saves everything that a forward pass changes: buffers such as batch-norm statistics, the state of the
// precision, and the random generators. An update that ran out of memory is repeated from there.
class UpdateStart {
 public:
  UpdateStart(const Weights& weights, Precision& precision, const torch::Device& device);
  void restore();

 private:
  Precision& precision_;
  const State precision_state_;
  Generators generators_;
  const State generators_state_;
  SavedTensors buffers_;
};

}  // namespace runner
