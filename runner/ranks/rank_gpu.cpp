#include "runner/ranks/rank_gpu.hpp"

#include <stdexcept>

#include "registry/base/log.hpp"
#include "runner/engine/runtime/device.hpp"

namespace runner {

std::optional<int> rank_gpu(const std::string& name, Backend backend, const Place& place) {
  const torch::Device device = resolve_device(name, place.local_rank);
  if (device.is_cpu()) {
    if (backend == Backend::nccl)
      throw std::runtime_error(
          "distributed.backend is \"nccl\", which exchanges between GPUs, but this rank computes on a CPU: "
          "delete the setting, or run `runner doctor` to see why no GPU is used");
    return {};
  }
  if (backend == Backend::gloo)
    throw std::runtime_error(log::format(
        "distributed.backend is \"gloo\", which exchanges between CPUs, but rank {} computes on {}: "
        "delete the setting, or set run.device=cpu",
        place.rank, device.str()));
  if (!device.is_cuda())
    throw std::runtime_error(log::format(
        "Ranks exchange between CPUs over Gloo and between NVIDIA GPUs over NCCL; for {} this program has no "
        "such library: train on one rank, or set run.device=cpu",
        device.str()));
  const int gpus = usable_devices(device.type());
  // If each rank sees only one GPU, the launcher has assigned them.
  if (place.local_size > gpus && gpus > 1)
    throw std::runtime_error(log::format(
        "{} ranks share {} GPUs, but NCCL needs one for each: start {} (`runner launch --multi-gpu`)",
        place.local_size, gpus, gpus));
  return device.index();
}

}  // namespace runner
