#pragma once

#include <torch/types.h>

#include <string>

namespace runner {

// "auto" is CUDA where there is one, else the CPU; of several GPUs each rank of a machine has its own. Throws
// where the device is not there, and says which are.
torch::Device resolve_device(const std::string& name, int local_rank = 0);

// For people: "cpu (2 threads)", "cuda:0 (NVIDIA H100)".
std::string describe_device(const torch::Device& device);

}  // namespace runner
