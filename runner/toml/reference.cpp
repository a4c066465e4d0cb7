#include "runner/toml/reference.hpp"

#include <algorithm>

namespace runner {

namespace {

constexpr std::string_view opening = "${";
constexpr std::string_view escaped_opening = "$${";

}  // namespace

ReferenceText split_references(std::string_view text) {
  ReferenceText pieces;
  const auto add_text = [&](std::string_view more) {
    if (pieces.all.empty() || pieces.all.back().is_reference) pieces.all.push_back({});
    pieces.all.back().text += more;
  };
  while (!text.empty()) {
    const std::size_t dollar = text.find('$');
    if (dollar > 0) {
      add_text(text.substr(0, dollar));
      text.remove_prefix(std::min(dollar, text.size()));
    } else if (text.starts_with(escaped_opening)) {
      add_text(opening);
      text.remove_prefix(escaped_opening.size());
    } else if (!text.starts_with(opening)) {
      add_text("$");
      text.remove_prefix(1);
    } else {
      const std::size_t end = text.find('}');
      if (end == std::string_view::npos) {
        pieces.problem = "\"${\" is never closed";
        return pieces;
      }
      const std::string_view inside = text.substr(opening.size(), end - opening.size());
      if (inside.find(opening) != std::string_view::npos) pieces.problem = "references cannot be nested";
      pieces.all.push_back({true, std::string(inside)});
      text.remove_prefix(end + 1);
    }
  }
  return pieces;
}

Origin origin_of_reference(const std::string& reference, Origin text) {
  if (!text.source || reference.empty()) return text;
  const std::string written = "${" + reference + "}";
  const std::string_view source(text.source->text);
  std::size_t begin = 0;
  for (std::uint32_t line = 1; line < text.line; ++line) {
    const std::size_t end = source.find('\n', begin);
    if (end == std::string_view::npos) break;
    begin = end + 1;
  }
  const std::size_t end = std::min(source.find('\n', begin), source.size());
  const std::size_t start = begin + text.column - 1;
  const std::size_t found = source.substr(0, end).find(written, std::min(start, end));
  if (found == std::string_view::npos || found + written.size() > start + text.length) return text;
  text.column += static_cast<std::uint32_t>(found - start);
  text.length = static_cast<std::uint32_t>(written.size());
  return text;
}

std::string escape_references(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(opening)) out += '$';
    out += text[i];
  }
  return out;
}

}  // namespace runner
