#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "components/optimizers/optimizer.hpp"

namespace runner {

struct OptimizerBytes {
  std::int64_t state = 0;      // from one update to the next
  std::int64_t temporary = 0;  // more while it updates
};

// Optimizers make their state at the first update: it makes one that changes nothing that matters here. The
// parameters, which may be on the meta device, are those of the optimizer.
OptimizerBytes optimizer_bytes(std::vector<torch::Tensor> parameters, Optimizer& optimizer);

}  // namespace runner
