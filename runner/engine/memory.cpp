#include "runner/engine/memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace runner {

namespace {

std::int64_t number_in(const char* path) {
  std::int64_t number = 0;
  return std::ifstream(path) >> number ? number : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

MainMemory main_memory() {
  MainMemory memory;
  std::int64_t swap = 0;
  std::ifstream lines("/proc/meminfo");
  std::string key, unit;
  for (std::int64_t kilobytes = 0; lines >> key >> kilobytes; std::getline(lines, unit)) {
    if (key == "MemTotal:") memory.total = kilobytes * 1024;
    if (key == "MemAvailable:") memory.available = kilobytes * 1024;
    if (key == "SwapFree:") swap = kilobytes * 1024;
  }
  if (memory.total == 0) return memory;
  memory.total += swap;
  const std::int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  if (limit < memory.total) {
    const std::int64_t used = number_in("/sys/fs/cgroup/memory.current");
    memory.total = limit;
    memory.available = std::min(memory.available, std::max<std::int64_t>(0, limit - std::min(used, limit)));
  }
  return memory;
}

}  // namespace runner
