// Numbers that look random but are the same in every language; tests/parity/reference.py has the same
// function.
#pragma once

#include <torch/types.h>

#include <vector>

namespace runner::testing {

// sin(start + 0.7 i) for i in 0 .. the number of elements - 1, rounded to float32.
inline torch::Tensor wave(const std::vector<std::int64_t>& shape, double start) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  const torch::Tensor angles = start + 0.7 * torch::arange(count, torch::kFloat64);
  return torch::sin(angles).to(torch::kFloat32).reshape(shape);
}

}  // namespace runner::testing
