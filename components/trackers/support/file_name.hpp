#pragma once

#include <string>
#include <string_view>

#include "components/trackers/support/short_digest.hpp"

namespace runner {

// A name for a file that says what it is: whatever could mean something to a file system becomes "_". Short
// enough for every file system, with room for more.
inline std::string file_name_of(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    name += plain ? c : '_';
  }
  constexpr std::size_t longest = 120;
  if (name.size() > longest) name = name.substr(0, longest - 9) + "-" + short_digest(text);
  return name.empty() || name.starts_with('.') ? "_" + name : name;
}

}  // namespace runner
