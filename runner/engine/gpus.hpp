#pragma once

#include <string>
#include <vector>

namespace runner {

// The names of the NVIDIA GPUs that the kernel driver lists, whether or not LibTorch can use them. Does not
// open a device.
std::vector<std::string> installed_gpus();

// Whether this LibTorch was built with CUDA.
bool has_cuda_build();

}  // namespace runner
