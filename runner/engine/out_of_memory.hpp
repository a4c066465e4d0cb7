#pragma once

#include <exception>
#include <utility>
#include <vector>

#include "components/contract/weights.hpp"
#include "components/precisions/precision.hpp"

namespace runner {

// Whether the error says that an allocation failed, on a GPU or in main memory.
bool is_out_of_memory(const std::exception& error);

// What a forward pass changes, as it was before an update: buffers such as batch-norm statistics, and the
// state of the precision. An update that ran out of memory is repeated from there.
class UpdateStart {
 public:
  UpdateStart(const Weights& weights, Precision& precision);
  void restore();

 private:
  Precision& precision_;
  State precision_state_;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> buffers_;  // the model's, and copies
};

}  // namespace runner
