#include "components/tokenizers/byte_level.hpp"

#include <array>
#include <unordered_map>

#include "components/tokenizers/code_points.hpp"
#include "registry/base/utf8.hpp"

namespace runner {

namespace {

constexpr std::array<char32_t, 256> make_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    characters[byte] = visible ? byte : next++;
  }
  return characters;
}
constexpr auto characters = make_characters();

const std::unordered_map<char32_t, char>& bytes_of() {
  static const auto map = [] {
    std::unordered_map<char32_t, char> bytes;
    for (std::size_t byte = 0; byte < 256; ++byte) bytes.emplace(characters[byte], static_cast<char>(byte));
    return bytes;
  }();
  return map;
}

}  // namespace

char32_t character_of(unsigned char byte) { return characters[byte]; }

std::string bytes_as_text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_utf8(text, characters[static_cast<unsigned char>(byte)]);
  return text;
}

void append_bytes(std::string& bytes, std::string_view text) {
  const std::size_t before = bytes.size();
  for (std::string_view rest = text; !rest.empty();) {
    const auto found = bytes_of().find(take_code_point(rest));
    if (found == bytes_of().end()) {
      bytes.replace(before, std::string::npos, text);
      return;
    }
    bytes += found->second;
  }
}

}  // namespace runner
