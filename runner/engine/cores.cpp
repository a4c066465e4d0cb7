#include "runner/engine/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace runner {

int usable_cores() {
  // The standard library counts the machine's cores, whatever the process is confined to.
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace runner
