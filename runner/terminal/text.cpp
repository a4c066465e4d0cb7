#include "runner/terminal/text.hpp"

#include <algorithm>

#include "runner/terminal/character.hpp"

namespace runner {

std::size_t visible_width(std::string_view text) {
  std::size_t width = 0;
  bool in_escape = false;
  while (!text.empty()) {
    const Character character = first_character(text);
    if (text[0] == '\033') in_escape = true;
    if (!in_escape) width += character.columns;
    if (in_escape && text[0] == 'm') in_escape = false;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t length = visible_width(word);
    if (column > 0 && column + 1 + length > width) {
      out.append("\n").append(indent).append(word);
      column = indent.size() + length;
    } else {
      out.append(column > 0 ? " " : "").append(word);
      column += length + (column > 0 ? 1 : 0);
    }
  }
  return out;
}

std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows, std::string_view indent,
                        std::size_t width) {
  constexpr std::size_t widest_first = 52;  // a longer one gets a line of its own
  std::size_t first_width = 0;
  for (const auto& [first, second] : rows) {
    const std::size_t wide = visible_width(first);
    if (wide <= widest_first) first_width = std::max(first_width, wide);
  }
  const std::string second_indent(indent.size() + first_width + 2, ' ');
  std::string out;
  for (const auto& [first, second] : rows) {
    out.append(indent).append(first);
    if (!second.empty()) {
      const std::size_t wide = visible_width(first);
      if (wide > first_width) {
        out.append("\n").append(second_indent);
      } else {
        out.append(first_width - wide + 2, ' ');
      }
      std::string lines = wrapped(second, width - std::min(width, second_indent.size()), "");
      for (auto at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 1)) {
        lines.insert(at + 1, second_indent);
      }
      out += lines;
    }
    out += "\n";
  }
  return out;
}

}  // namespace runner
