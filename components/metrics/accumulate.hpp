#pragma once

#include <torch/types.h>

namespace runner {

// Adds to a sum that is undefined before the first addition; an undefined tensor adds nothing. The sum stays
// on its device.
inline void add_to(torch::Tensor& sum, const torch::Tensor& more) {
  if (!more.defined()) return;
  sum = sum.defined() ? sum + more.to(sum.device()) : more;
}

}  // namespace runner
