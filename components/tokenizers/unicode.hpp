#pragma once

#include <string>
#include <string_view>

namespace runner::unicode {

// For UTF-8 text, character by character: no rule depends on neighbours or on a language.
std::string lowercase(std::string_view text);

enum class Form { nfc, nfd, nfkc, nfkd };
std::string normalized(std::string_view text, Form form);

// Malformed UTF-8 becomes U+FFFD, one for each incomplete character.
std::string repaired(std::string_view text);

bool is_space(char32_t character);
bool is_punctuation(char32_t character);  // all of ASCII's, so "$" and "+" too, and Unicode's class P
bool is_numeric(char32_t character);      // digits and other numbers: class N
bool is_word(char32_t character);         // letters, marks, digits, connectors: \w
bool is_control(char32_t character);      // controls, formats, private use; not tab and line ends
bool is_accent(char32_t character);       // nonspacing marks: class Mn
bool is_mark(char32_t character);         // accents and all other marks: class M
bool is_chinese(char32_t character);      // the CJK ideographs, each of which BERT takes as a word

}  // namespace runner::unicode
