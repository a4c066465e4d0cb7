#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace simulated_gpu {

struct Counts {
  std::int64_t operators = 0, to_device = 0, to_host = 0, between_devices = 0, host_waits = 0, faults = 0;
  std::map<std::string, std::int64_t> waits_by_name = {};
};

// Under the lock of state(). SIMULATED_GPU_REPORT names a file that gets a line of JSON with them when the
// process ends.
Counts& counts();

// An error of the program that runs on the device: counted, written to stderr, and thrown.
[[noreturn]] void fault(const std::string& message);

}  // namespace simulated_gpu
