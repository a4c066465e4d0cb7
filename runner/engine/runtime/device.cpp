#include "runner/engine/runtime/device.hpp"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <torch/utils.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "registry/base/wording.hpp"

namespace runner {

namespace {

c10::DeviceIndex index_of(int number) { return static_cast<c10::DeviceIndex>(number); }

// The accelerator that "auto" means; none: the CPU.
std::optional<c10::DeviceType> accelerator_here() {
  const auto type = at::getAccelerator(/*checked=*/false);
  return type && usable_devices(*type) > 0 ? type : std::nullopt;
}

std::optional<torch::Device> parsed(const std::string& name) {
  try {
    const torch::Device device(name);
    if (device.is_cpu() ? name == "cpu" : at::isAccelerator(device.type())) return device;
  } catch (const c10::Error&) {  // not the name of a device
  }
  return {};
}

}  // namespace

bool is_device_name(const std::string& name) { return name == "auto" || parsed(name).has_value(); }

int usable_devices(c10::DeviceType type) {
  if (!c10::impl::hasDeviceGuardImpl(type)) return 0;
  return c10::impl::VirtualGuardImpl(type).deviceCount();
}

std::vector<std::string> usable_accelerators() {
  std::vector<std::string> found;
  for (int i = 0; i < c10::COMPILE_TIME_MAX_DEVICE_TYPES; ++i) {
    const auto type = static_cast<c10::DeviceType>(i);
    if (!at::isAccelerator(type)) continue;
    if (const int count = usable_devices(type); count > 0)
      found.push_back(c10::DeviceTypeName(type, /*lower_case=*/true) + " (" + std::to_string(count) + ")");
  }
  return found;
}

torch::Device resolve_device(const std::string& name, int local_rank) {
  if (name == "auto") {
    const auto type = accelerator_here();
    return type ? torch::Device(*type, index_of(local_rank % usable_devices(*type))) : torch::kCPU;
  }
  const auto device = parsed(name);
  if (device && device->is_cpu()) return *device;
  const int available = device ? usable_devices(device->type()) : 0;
  // A launcher may show each rank only its own GPU, or all GPUs to every rank.
  if (available > 0 && !device->has_index()) return {device->type(), index_of(local_rank % available)};
  if (available > 0 && device->index() < available) return *device;
  const std::string type = !device || device->is_cuda() ? "CUDA" : c10::DeviceTypeName(device->type(), true);
  throw std::runtime_error(
      "device = " + in_quotes(name) + " cannot be used: this machine has " +
      (available == 0 ? "no " + type + " device" : std::to_string(available) + " " + type + " device(s)") +
      "; use \"auto\" or \"cpu\"");
}

void require_type(const torch::Device& device, torch::ScalarType type, const std::string& what) {
  if (device.is_cpu()) return;
  std::vector<std::string> known;
  try {
    const auto capability = c10::impl::VirtualGuardImpl(device.type()).getDeviceCapability(device);
    capability.forEachSupportedScalarType(
        [&](torch::ScalarType each) { known.emplace_back(c10::toString(each)); });
  } catch (const c10::Error&) {  // this type of device does not say
    return;
  }
  if (std::ranges::find(known, c10::toString(type)) != known.end()) return;
  throw std::runtime_error("device " + device.str() + " has no " + c10::toString(type) + ", in which " +
                           what + " computes: use another precision, or run.device=cpu");
}

bool copies_from_pinned(const torch::Device& device) {
  if (device.is_cpu()) return false;
  try {
    return at::globalContext().getAcceleratorHooksInterface(device.type()).getPinnedMemoryAllocator() !=
           nullptr;
  } catch (const c10::Error&) {
    return false;
  }
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
