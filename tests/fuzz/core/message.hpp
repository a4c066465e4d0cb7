#pragma once

#include <cstdlib>
#include <string_view>

// What a reader says about a file it refuses: short, and nothing that a terminal would act on.
inline void require_decent(std::string_view message) {
  if (message.empty() || message.size() > 4096) std::abort();
  for (const char letter : message) {
    const auto byte = static_cast<unsigned char>(letter);
    if ((byte < 0x20 && letter != '\n' && letter != '\t') || byte == 0x7F) std::abort();
  }
}
