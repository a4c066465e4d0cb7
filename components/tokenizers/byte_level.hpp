#pragma once

#include <string>
#include <string_view>

namespace runner {

// GPT-2 writes each byte as one visible character: printable ones of Latin-1 as themselves, the others from
// U+0100 on.
std::string bytes_as_text(std::string_view bytes);
void append_bytes(std::string& bytes, std::string_view text);  // the inverse; appends other text unchanged

char32_t character_of(unsigned char byte);

// How GPT-2 divides text into words; a space before a word is part of it.
inline constexpr const char* byte_level_words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace runner
