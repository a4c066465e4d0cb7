#pragma once

#include <string>
#include <string_view>

#include "components/support/io/sha256.hpp"

namespace runner {

// Tells long texts apart in a name: eight hexadecimal digits.
inline std::string short_digest(std::string_view text) {
  Sha256 digest;
  digest.update({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return digest.hex().substr(0, 8);
}

}  // namespace runner
