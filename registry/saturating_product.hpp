#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace runner {

// A product of numbers of at least 0 from a recipe. At most a number that can still be added to others: more
// than there is of anything.
constexpr std::int64_t saturating_product(std::int64_t one, std::int64_t other) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 8;
  std::int64_t result = 0;
  return __builtin_mul_overflow(one, other, &result) ? most : std::min(result, most);
}

}  // namespace runner
