#pragma once

#include <cstddef>
#include <string_view>

namespace runner {

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;  // on a terminal: 2 for Chinese characters and emoji, 0 for combining accents
};

// The first character of a UTF-8 text that is not empty. A malformed byte is one character.
Character first_character(std::string_view text);

}  // namespace runner
