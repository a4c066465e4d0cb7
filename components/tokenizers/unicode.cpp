#include "components/tokenizers/unicode.hpp"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <stdexcept>

#include "components/tokenizers/code_points.hpp"
#include "registry/base/utf8.hpp"

namespace runner::unicode {

namespace {

const icu::Normalizer2& normalizer(Form form) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* found = form == Form::nfc    ? icu::Normalizer2::getNFCInstance(status)
                                  : form == Form::nfd  ? icu::Normalizer2::getNFDInstance(status)
                                  : form == Form::nfkc ? icu::Normalizer2::getNFKCInstance(status)
                                                       : icu::Normalizer2::getNFKDInstance(status);
  if (U_FAILURE(status)) throw std::runtime_error(std::string("ICU: ") + u_errorName(status));
  return *found;
}

auto as_icu(char32_t character) { return static_cast<UChar32>(character); }
bool in_class(char32_t character, std::uint32_t mask) {
  return (U_GET_GC_MASK(as_icu(character)) & mask) != 0;
}
bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}
bool within(char32_t character, char32_t first, char32_t last) {
  return character >= first && character <= last;
}

}  // namespace

std::string lowercase(std::string_view text) {
  constexpr char32_t i_with_dot = 0x130;  // the only one whose lowercase form is two characters
  std::string lower;
  lower.reserve(text.size());
  while (!text.empty()) {
    const char32_t character = take_code_point(text);
    if (character == i_with_dot) {
      lower += "i\xCC\x87";
    } else {
      append_utf8(lower, static_cast<char32_t>(u_tolower(as_icu(character))));
    }
  }
  return lower;
}

std::string normalized(std::string_view text, Form form) {
  const icu::StringPiece piece(text.data(), static_cast<std::int32_t>(text.size()));
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  UErrorCode status = U_ZERO_ERROR;
  normalizer(form).normalizeUTF8(0, piece, sink, nullptr, status);
  if (U_FAILURE(status)) throw std::runtime_error(std::string("ICU: ") + u_errorName(status));
  return out;
}

std::string repaired(std::string_view text) {
  std::string out;
  icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())))
      .toUTF8String(out);
  return out;
}

bool is_space(char32_t character) { return u_isUWhiteSpace(as_icu(character)); }
bool is_punctuation(char32_t character) {
  return is_ascii_punctuation(character) || in_class(character, U_GC_P_MASK);
}
bool is_numeric(char32_t character) { return in_class(character, U_GC_N_MASK); }
bool is_word(char32_t character) {
  return u_isUAlphabetic(as_icu(character)) ||
         in_class(character, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) || character == 0x200C ||
         character == 0x200D;
}
bool is_control(char32_t character) {
  return character != '\t' && character != '\n' && character != '\r' &&
         in_class(character, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK);
}
bool is_accent(char32_t character) { return in_class(character, U_GC_MN_MASK); }
bool is_mark(char32_t character) { return in_class(character, U_GC_M_MASK); }
bool is_chinese(char32_t c) {
  return within(c, 0x4E00, 0x9FFF) || within(c, 0x3400, 0x4DBF) || within(c, 0x20000, 0x2A6DF) ||
         within(c, 0x2A700, 0x2B73F) || within(c, 0x2B740, 0x2B81F) || within(c, 0x2B920, 0x2CEAF) ||
         within(c, 0xF900, 0xFAFF) || within(c, 0x2F800, 0x2FA1F);
}

}  // namespace runner::unicode
