#pragma once

#include <cstdint>
#include <filesystem>

namespace runner {

// Main memory in bytes that this process may use: that of the machine, or less if its control group or one
// above it sets a limit. 0: unknown.
struct MainMemory {
  std::int64_t total = 0, available = 0;
};
MainMemory main_memory(const std::filesystem::path& root = "/");

}  // namespace runner
