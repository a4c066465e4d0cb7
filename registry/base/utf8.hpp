#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace runner {

// The length in bytes of the first character of the text; 0 if it is not well-formed UTF-8.
std::size_t utf8_length(std::string_view text);

bool is_utf8(std::string_view text);

// The text with every byte that is not well-formed UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);
// The same for the first `most_bytes` bytes, without cutting a character in two.
std::string valid_utf8(std::string_view text, std::size_t most_bytes);

// For a terminal: control characters and malformed bytes become '?', tabs become spaces.
std::string printable(std::string_view text);

// Each NUL becomes "\\0", because what() of an exception would end there.
std::string without_nul(std::string text);

void append_utf8(std::string& text, char32_t code_point);

// How many characters the text has, which is well-formed, and the first `most` of them.
std::size_t utf8_characters(std::string_view text);
std::string_view utf8_prefix(std::string_view text, std::size_t most);

inline bool continues_utf8(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace runner
