#include "runner/engine/runtime/device.hpp"

#include <dlfcn.h>
#include <torch/cuda.h>
#include <torch/utils.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "registry/base/wording.hpp"

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
        "device = " + in_quotes(name) + " cannot be used: this machine has " +
        (available == 0 ? "no CUDA device" : std::to_string(available) + " CUDA device(s)") +
        "; use \"auto\" or \"cpu\"");
  }
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(index)};
}

std::string describe_device(const torch::Device& device) {
  if (!device.is_cpu()) return device.str();
  return "cpu, " + counted(static_cast<std::size_t>(torch::get_num_threads()), "thread");
}

std::vector<std::string> installed_gpus() {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/driver/nvidia/gpus", error), end;
       !error && entry != end; entry.increment(error)) {
    std::ifstream information(entry->path() / "information");
    for (std::string line; std::getline(information, line);) {
      constexpr std::string_view key = "Model:";
      if (!line.starts_with(key)) continue;
      const auto first = line.find_first_not_of(" \t", key.size());
      names.push_back(first == std::string::npos ? "unknown" : line.substr(first));
    }
  }
  std::ranges::sort(names);
  return names;
}

bool has_cuda_build() { return dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD) != nullptr; }

}  // namespace runner
