#pragma once

#include <cstdlib>

namespace runner::testing {

// Whether the long variants run as well: RUNNER_THOROUGH=1.
inline bool thorough() { return std::getenv("RUNNER_THOROUGH") != nullptr; }
constexpr auto takes_long = "takes long: RUNNER_THOROUGH=1 runs it";

}  // namespace runner::testing
