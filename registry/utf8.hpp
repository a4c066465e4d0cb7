#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace runner {

// How many bytes the first character of the text takes; 0 where it is not well-formed UTF-8.
std::size_t utf8_length(std::string_view text);

bool is_utf8(std::string_view text);

// What a terminal can show: control characters and anything that is not well-formed become '?', tabs a space.
std::string printable(std::string_view text);

// Each NUL as "\\0": what() of an exception would end there.
std::string without_nul(std::string text);

inline bool continues_utf8(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace runner
