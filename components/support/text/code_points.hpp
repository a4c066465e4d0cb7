#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace runner {

// The first character of well-formed UTF-8, which is taken off the text.
char32_t take_code_point(std::string_view& text);

// Throws DataError with the line and the byte where the text of the file is not UTF-8.
void check_utf8(std::string_view text, const std::filesystem::path& file,
                const std::string& remedy = "");  // none: by what the bytes look like

std::string from_latin1(std::string_view bytes);  // as UTF-8

// Where to cut so that what is before is well-formed: at or a little before `position`.
std::size_t character_start(std::string_view text, std::size_t position);

// As many whole lines as a tokenizer should get at once, taken off the text.
std::string_view take_lines(std::string_view& text);

}  // namespace runner
