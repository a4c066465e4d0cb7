#pragma once

namespace runner {

// Cores this process may run on: what `taskset` or a container left of the machine's.
int usable_cores();

}  // namespace runner
