#pragma once

#include <torch/types.h>

namespace runner {

// Floating-point operations per second of the fastest of several large square matrix multiplications, on all
// threads in use: the reference for how much of a machine training uses. Takes about half a second.
double measure_matmul_peak(torch::Device device, torch::ScalarType type);

}  // namespace runner
