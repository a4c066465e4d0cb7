#include "runner/engine/device.hpp"

#include <torch/cuda.h>
#include <torch/utils.h>

#include <stdexcept>

#include "registry/wording.hpp"

namespace runner {

namespace {

int cuda_devices() { return torch::cuda::is_available() ? static_cast<int>(torch::cuda::device_count()) : 0; }

}  // namespace

torch::Device resolve_device(const std::string& name, int local_rank) {
  const int available = cuda_devices();
  if (name == "auto" && available == 0) return {torch::kCPU};
  // A launcher may show each rank only its own GPU, or all GPUs to every rank.
  if ((name == "auto" || name == "cuda") && available > 0)
    return {torch::kCUDA, static_cast<torch::DeviceIndex>(local_rank % available)};
  const torch::Device device(name);
  if (device.is_cpu()) return device;
  const int index = device.has_index() ? device.index() : 0;
  if (!device.is_cuda() || index >= available) {
    throw std::runtime_error(
        "run.device is " + in_quotes(name) + ", but this machine has " +
        (available == 0 ? "no CUDA device" : std::to_string(available) + " CUDA device(s)") +
        "; use \"auto\" or \"cpu\"");
  }
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(index)};
}

std::string describe_device(const torch::Device& device) {
  if (!device.is_cpu()) return device.str();
  const int threads = torch::get_num_threads();
  return "cpu, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

}  // namespace runner
