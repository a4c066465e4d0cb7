#pragma once

#include <cstdint>
#include <optional>

namespace runner {

// A number of a file that may be damaged as an integer, rounded towards zero; nothing if it is not finite or
// no integer is that large.
inline std::optional<std::int64_t> whole_number(double value) {
  if (!(value > -0x1p63 && value < 0x1p63)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace runner
