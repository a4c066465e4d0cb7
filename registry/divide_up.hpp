#pragma once

#include <cstdint>

namespace runner {

// How many parts of that size the whole takes; for a whole of at least 0 and a part of at least 1.
constexpr std::int64_t divide_up(std::int64_t whole, std::int64_t part) {
  return whole / part + (whole % part != 0 ? 1 : 0);
}

}  // namespace runner
