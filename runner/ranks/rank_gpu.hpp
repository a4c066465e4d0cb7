#pragma once

#include <optional>
#include <string>

#include "runner/engine/distributed_options.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// The GPU that a rank computes on, using NCCL for communication; none: it computes on a CPU. Throws
// std::runtime_error if the device and the backend, or the numbers of ranks and GPUs, do not match.
std::optional<int> rank_gpu(const std::string& device, Backend backend, const Place& place);

}  // namespace runner
