#include "runner/engine/runtime/memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace runner {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

std::int64_t number_in(const fs::path& path) {
  std::int64_t number = 0;
  return std::ifstream(path) >> number ? number : no_limit;
}

// The group of this process, relative to the one at the top: "" is that one.
fs::path control_group(const fs::path& root) {
  const std::string version_2 = "0::/";
  std::ifstream lines(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(version_2))
      return fs::path(line.substr(version_2.size() - 1)).lexically_normal().relative_path();
  }
  return {};
}

// Files that were read stay in memory until something else needs it. Kubernetes does not count them either.
std::int64_t file_cache(const fs::path& group) {
  std::ifstream lines(group / "memory.stat");
  std::string key;
  for (std::int64_t bytes = 0; lines >> key >> bytes;)
    if (key == "inactive_file") return bytes;
  return 0;
}

}  // namespace

MainMemory main_memory(const fs::path& root) {
  MainMemory memory;
  std::int64_t swap = 0;
  std::ifstream lines(root / "proc/meminfo");
  std::string key, unit;
  for (std::int64_t kilobytes = 0; lines >> key >> kilobytes; std::getline(lines, unit)) {
    if (key == "MemTotal:") memory.total = kilobytes * 1024;
    if (key == "MemAvailable:") memory.available = kilobytes * 1024;
    if (key == "SwapFree:") swap = kilobytes * 1024;
  }
  if (memory.total == 0) return memory;
  memory.total += swap;
  for (fs::path below = control_group(root);; below = below.parent_path()) {
    const fs::path group = root / "sys/fs/cgroup" / below;
    const std::int64_t limit = number_in(group / "memory.max");
    if (limit < no_limit) {
      const std::int64_t used = number_in(group / "memory.current");
      const std::int64_t free = used < no_limit ? limit - used + file_cache(group) : 0;
      memory.total = std::min(memory.total, limit);
      memory.available = std::clamp<std::int64_t>(free, 0, memory.available);
    }
    if (below.empty()) return memory;
  }
}

}  // namespace runner
