#include "registry/base/controls.hpp"

#include <cstdio>

#include "registry/base/utf8.hpp"

namespace runner {

namespace {

// Of a character of up to three bytes.
unsigned code_point_of(std::string_view character) {
  const auto bits = [&](std::size_t at) { return static_cast<unsigned char>(character[at]) & 0x3Fu; };
  if (character.size() == 1) return static_cast<unsigned char>(character[0]);
  if (character.size() == 2) return (static_cast<unsigned char>(character[0]) & 0x1Fu) << 6 | bits(1);
  return (static_cast<unsigned char>(character[0]) & 0x0Fu) << 12 | bits(1) << 6 | bits(2);
}

}  // namespace

bool acts_on_terminal(std::string_view character) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(character[at]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) return (byte(0) == 0xC2 && byte(1) < 0xA0) || character == "\xD8\x9C";
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  return (byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE))) ||
         (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9);
}

std::string json_escape(std::string_view character) {
  char text[16];
  std::snprintf(text, sizeof text, "\\u%04x", code_point_of(character));
  return text;
}

std::string escaped_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const std::string_view character = json.substr(0, std::max<std::size_t>(1, utf8_length(json)));
    const bool line_end = character == "\n";  // between the values
    out += !line_end && acts_on_terminal(character) ? json_escape(character) : std::string(character);
    json.remove_prefix(character.size());
  }
  return out;
}

}  // namespace runner
