#include "runner/terminal/character.hpp"

#include <clocale>
#include <cwchar>

#include "registry/base/utf8.hpp"

namespace runner {

namespace {

wchar_t code_point(std::string_view character) {
  constexpr unsigned lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  unsigned code = static_cast<unsigned char>(character[0]) & lead_bits[character.size()];
  for (const char byte : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3F);
  return static_cast<wchar_t>(code);
}

// According to the C library, whatever the user's locale; 1 for characters that it does not know.
std::size_t columns_of(wchar_t code) {
  static const locale_t unicode = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (unicode == nullptr) return 1;
  const locale_t before = ::uselocale(unicode);
  const int columns = ::wcwidth(code);
  ::uselocale(before);
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

}  // namespace

Character first_character(std::string_view text) {
  const std::size_t bytes = utf8_length(text);
  if (bytes <= 1) return {};
  return {bytes, columns_of(code_point(text.substr(0, bytes)))};
}

}  // namespace runner
