#pragma once

#include <string>
#include <vector>

namespace runner {

// The names of the GPUs of NVIDIA that the kernel knows, whether or not LibTorch can use them. Opens no
// device.
std::vector<std::string> installed_gpus();

// Whether this LibTorch was built for them.
bool has_cuda_build();

}  // namespace runner
