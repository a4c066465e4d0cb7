#pragma once

#include <concepts>
#include <type_traits>

namespace runner {

// How many parts of that size the whole takes; for a whole of at least 0 and a part of at least 1.
template <std::integral Whole>
constexpr Whole divide_up(Whole whole, std::type_identity_t<Whole> part) {
  return whole / part + (whole % part != 0 ? 1 : 0);
}

}  // namespace runner
