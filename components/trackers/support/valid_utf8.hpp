#pragma once

#include <string>
#include <string_view>

namespace runner {

// The text with every byte that is not well-formed UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);
// The same for the first `most_bytes` bytes, without cutting a character in two.
std::string valid_utf8(std::string_view text, std::size_t most_bytes);

}  // namespace runner
