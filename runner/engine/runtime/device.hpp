#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

namespace runner {

// Devices are those of LibTorch: "cpu", and accelerators such as "cuda", "xpu" or "mps", or what a library
// that was loaded has registered. What a device can do is asked of LibTorch; only NCCL and CUDA graphs name
// CUDA.

// Whether this could be a device on some machine: "cuda", "cuda:1", "mps". Not whether it is here.
bool is_device_name(const std::string& name);

// The devices of a type that this process can use.
int usable_devices(c10::DeviceType type);

// The types of accelerators that this process can use, each with the number of them: "cuda (4)".
std::vector<std::string> usable_accelerators();

// "auto" is the accelerator of this machine, otherwise the CPU. With several, each local rank gets its own.
// Throws if there is no such device, and says how many there are.
torch::Device resolve_device(const std::string& name, int local_rank = 0);

// Throws if the device does not know numbers of this type, which `what` computes in.
void require_type(const torch::Device& device, torch::ScalarType type, const std::string& what);

// Whether copies from page-locked memory to this device can run while the host goes on.
bool copies_from_pinned(const torch::Device& device);

// For display: "cpu, 2 threads", "cuda:0".
std::string describe_device(const torch::Device& device);

// The names of the NVIDIA GPUs that the kernel driver lists, whether or not LibTorch can use them. Does not
// open a device.
std::vector<std::string> installed_gpus();

// Whether this LibTorch was built with CUDA.
bool has_cuda_build();

}  // namespace runner
