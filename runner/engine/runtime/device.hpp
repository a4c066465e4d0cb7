#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

namespace runner {

// "auto" is CUDA if this machine has a GPU, otherwise the CPU. With several GPUs each local rank gets its
// own. Throws if there is no such device, and says how many GPUs there are.
torch::Device resolve_device(const std::string& name, int local_rank = 0);

// For display: "cpu, 2 threads", "cuda:0".
std::string describe_device(const torch::Device& device);

// The names of the NVIDIA GPUs that the kernel driver lists, whether or not LibTorch can use them. Does not
// open a device.
std::vector<std::string> installed_gpus();

// Whether this LibTorch was built with CUDA.
bool has_cuda_build();

}  // namespace runner
