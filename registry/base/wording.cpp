#include "registry/base/wording.hpp"

#include <algorithm>
#include <cstdio>

#include "registry/base/controls.hpp"
#include "registry/base/utf8.hpp"

namespace runner {

namespace {

constexpr std::size_t longest_name = 120, longest_list = 1000;

std::string hexadecimal(const char* format, unsigned number) {
  char text[16];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

std::string escaped_character(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (lead == '\n') return "\\n";
  if (lead == '\r') return "\\r";
  if (lead == '\t') return "\\t";
  if (lead < 0x20 || lead == 0x7F) return hexadecimal("\\x%02x", lead);
  if (acts_on_terminal(character)) return json_escape(character);
  return std::string(character);
}

// Escapes as much of `rest` as fits into `most` bytes, and removes it from `rest`.
std::string escaped(std::string_view& rest, std::size_t most, bool line_breaks) {
  std::string out;
  while (!rest.empty()) {
    const std::size_t length = utf8_length(rest);
    const std::string_view character = rest.substr(0, std::max<std::size_t>(1, length));
    std::string shown = length == 0 ? hexadecimal("\\x%02x", static_cast<unsigned char>(rest[0]))
                        : line_breaks && (rest[0] == '\n' || rest[0] == '\t') ? std::string(character)
                                                                              : escaped_character(character);
    if (out.size() + shown.size() > most) break;
    out += shown;
    rest.remove_prefix(character.size());
  }
  return out;
}

}  // namespace

std::string escaped_name(std::string_view text) {
  std::string out = escaped(text, longest_name, false);
  return text.empty() ? out : out + "..";
}

std::string with_article(std::string_view noun) {
  const bool vowel = !noun.empty() && std::string_view("aeiou").find(noun.front()) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(noun);
}

std::string in_quotes(std::string_view text) { return "\"" + escaped_name(text) + "\""; }

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (out.size() > longest_list) return out + " .. and " + std::to_string(names.size() - i) + " more";
    out += (i ? ", " : "") + escaped_name(names[i]);
  }
  return out;
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string out;
  for (const std::string& word : words) out.append(out.empty() ? "" : separator).append(word);
  return out;
}

std::string counted(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string shown_message(std::string_view text, std::size_t most) {
  constexpr std::size_t kept = 400;  // bytes of the end, which says what to do
  std::string_view rest = text;
  std::string out = escaped(rest, most, true);
  if (rest.empty()) return out;
  rest = text;
  out = escaped(rest, most - 2 * kept, true);
  std::string_view end = rest.substr(rest.size() - std::min(rest.size(), kept));
  while (!end.empty() && continues_utf8(end[0])) end.remove_prefix(1);
  const std::size_t left_out = rest.size() - end.size();
  return out + " [.. " + std::to_string(left_out) + " bytes left out ..] " + escaped(end, kept, true);
}

}  // namespace runner
