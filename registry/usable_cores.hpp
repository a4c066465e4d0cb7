#pragma once

#include <sched.h>
#include <unistd.h>

#include <cstdint>

namespace runner {

// The processor cores that this process may run on: fewer than the machine has if it is bound to some.
inline std::int64_t usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;  // for up to 1,024 cores
  return known ? CPU_COUNT(&allowed) : ::sysconf(_SC_NPROCESSORS_ONLN);
}

}  // namespace runner
