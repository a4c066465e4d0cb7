#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "components/optimizers/optimizer.hpp"

namespace runner {

struct OptimizerBytes {
  std::int64_t state = 0;      // kept from one update to the next
  std::int64_t temporary = 0;  // in addition during an update
};

// Makes one update with zero gradients and a learning rate of 0, because optimizers create their state at the
// first update. The parameters, which may be on the meta device, are those of the optimizer.
OptimizerBytes optimizer_bytes(std::vector<torch::Tensor> parameters, Optimizer& optimizer);

}  // namespace runner
