#pragma once

#include <stdexcept>
#include <string>

#include "registry/wording.hpp"

namespace runner {

// Steps of a tokenizer.json may make a text longer, and a sequence of them exponentially longer. No real
// tokenizer exceeds this limit.
inline void require_moderate(std::size_t before, std::size_t after, const std::string& step) {
  if (after <= 32 * before + (std::size_t{1} << 16)) return;
  throw std::runtime_error("its " + step + " makes a text of " + std::to_string(before) +
                           " bytes more than 32 times as long");
}

}  // namespace runner
