#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace runner {

// Removes the first character from the text, which must be well-formed UTF-8, and returns it.
char32_t take_code_point(std::string_view& text);

// Throws DataError with the line and the byte if the text of the file is not UTF-8.
void check_utf8(std::string_view text, const std::filesystem::path& file,
                const std::string& remedy = "");  // empty: guessed from the bytes

std::string from_latin1(std::string_view bytes);  // as UTF-8

// The start of the character that contains the byte at `position`.
std::size_t character_start(std::string_view text, std::size_t position);

// Removes as many whole lines from the text as a tokenizer should get at once, and returns them.
std::string_view take_lines(std::string_view& text);

}  // namespace runner
