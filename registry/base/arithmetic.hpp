#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace runner {

// Division that rounds up: how many parts of this size hold the whole. For whole >= 0 and part >= 1.
template <std::integral Whole>
constexpr Whole divide_up(Whole whole, std::type_identity_t<Whole> part) {
  return whole / part + (whole % part != 0 ? 1 : 0);
}

// The product of two numbers >= 0 from a recipe. Instead of overflowing, it saturates at a bound larger than
// any real amount, yet small enough that a few such products can be added.
constexpr std::int64_t saturating_product(std::int64_t one, std::int64_t other) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 8;
  std::int64_t result = 0;
  return __builtin_mul_overflow(one, other, &result) ? most : std::min(result, most);
}

}  // namespace runner
