#pragma once

#include <cstdint>

namespace runner {

// Main memory in bytes, as far as this process may use it: the machine's, or less where a control group sets
// a limit. 0: not known.
struct MainMemory {
  std::int64_t total = 0, available = 0;
};
MainMemory main_memory();

}  // namespace runner
