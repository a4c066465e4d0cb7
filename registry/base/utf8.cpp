#include "registry/base/utf8.hpp"

#include <algorithm>

#include "registry/base/controls.hpp"

namespace runner {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  if (!std::ranges::all_of(text.substr(1, length - 1), continues_utf8)) return 0;
  // Longer than needed, a surrogate, or beyond the last code point: all decided by the second byte.
  const auto second = static_cast<unsigned char>(text[1]);
  const bool too_low = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool too_high = (lead == 0xED && second >= 0xA0) || (lead == 0xF4 && second >= 0x90);
  return too_low || too_high ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string without_nul(std::string text) {
  for (auto at = text.find('\0'); at != std::string::npos; at = text.find('\0', at))
    text.replace(at, 1, "\\0");
  return text;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    valid += length > 0 ? text.substr(0, length) : std::string_view("\xef\xbf\xbd");
    text.remove_prefix(length > 0 ? length : 1);
  }
  return valid;
}

std::string valid_utf8(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return valid_utf8(text);
  while (most_bytes > 0 && continues_utf8(text[most_bytes])) --most_bytes;
  return valid_utf8(text.substr(0, most_bytes));
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (text[0] == '\t') {
      out += ' ';
    } else if (length == 0 || acts_on_terminal(text.substr(0, length))) {
      out += '?';
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

void append_utf8(std::string& text, char32_t code_point) {
  const auto rest = [&](int shift) { text += static_cast<char>(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xC0 | code_point >> 6);
    rest(0);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xE0 | code_point >> 12);
    rest(6), rest(0);
  } else {
    text += static_cast<char>(0xF0 | code_point >> 18);
    rest(12), rest(6), rest(0);
  }
}

std::size_t utf8_characters(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues_utf8));
}

std::string_view utf8_prefix(std::string_view text, std::size_t most) {
  std::size_t bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    if (!continues_utf8(text[bytes]) && most-- == 0) break;
  }
  return text.substr(0, bytes);
}

}  // namespace runner
