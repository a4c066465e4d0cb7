#include "components/tokenizers/code_points.hpp"

#include <algorithm>
#include <cstdio>

#include "components/contract/data_error.hpp"
#include "registry/base/utf8.hpp"
#include "registry/files/text_encoding.hpp"

namespace runner {

namespace {

// A tokenizer needs several times the memory of its input. A longer text is divided at line ends, which may
// change a few tokens at the boundaries.
constexpr std::size_t most_at_once = 64 << 20;
constexpr std::size_t most_looked_at = 1 << 20;  // to guess an encoding

}  // namespace

char32_t take_code_point(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t code_point = length == 1 ? first : first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length && i < text.size(); ++i)
    code_point = code_point << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  text.remove_prefix(std::min(length, text.size()));
  return code_point;
}

void check_utf8(std::string_view text, const std::filesystem::path& file, const std::string& remedy) {
  if (is_bare_utf16(text)) throw DataError(file.string() + " is not UTF-8. " + encoding_remedy(text) + ".");
  std::size_t position = 0;
  while (position < text.size()) {
    if (static_cast<unsigned char>(text[position]) < 0x80) {
      ++position;
      continue;
    }
    const std::size_t length = utf8_length(text.substr(position, 4));
    if (length > 0) {
      position += length;
      continue;
    }
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n');
    char byte[8];
    std::snprintf(byte, sizeof byte, "0x%02X", static_cast<unsigned char>(text[position]));
    throw DataError(file.string() + " is not UTF-8: line " + std::to_string(line) + ", byte " + byte +
                    " at offset " + std::to_string(position) + ". " +
                    (remedy.empty() ? encoding_remedy(text.substr(0, most_looked_at)) : remedy) + ".");
  }
}

std::string from_latin1(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) append_utf8(text, static_cast<unsigned char>(byte));
  return text;
}

std::size_t character_start(std::string_view text, std::size_t position) {
  while (position > 0 && position < text.size() && continues_utf8(text[position])) --position;
  return position;
}

std::string_view take_lines(std::string_view& text) {
  std::size_t length = text.size();
  if (length > most_at_once) {
    const std::size_t line_end = text.rfind('\n', most_at_once - 1);
    length = line_end == std::string_view::npos ? character_start(text, most_at_once) : line_end + 1;
  }
  const std::string_view part = text.substr(0, length);
  text.remove_prefix(length);
  return part;
}

}  // namespace runner
