#pragma once

#include <cstdint>
#include <optional>

namespace runner {

// Converts a number from a file, which may be damaged, to an integer, rounded towards zero; nothing if it is
// not finite or no integer is that large.
inline std::optional<std::int64_t> whole_number(double value) {
  if (!(value > -0x1p63 && value < 0x1p63)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace runner
