#include "runner/toml/nesting.hpp"

#include <algorithm>
#include <vector>

namespace runner {

namespace {

// The offset after the string that starts here. An unterminated one ends where the parser will report it.
std::size_t after_string(std::string_view text, std::size_t start) {
  const char quote = text[start];
  const bool escapes = quote == '"';
  const std::string_view triple = quote == '"' ? "\"\"\"" : "'''";
  const bool multi_line = text.substr(start).starts_with(triple);
  std::size_t i = start + (multi_line ? 3 : 1);
  while (i < text.size()) {
    if (escapes && text[i] == '\\') {
      i += 2;
    } else if (multi_line && text.substr(i).starts_with(triple)) {
      i += 3;
      for (int more = 0; more < 2 && i < text.size() && text[i] == quote; ++more)
        ++i;  // """a""""" ends in two quotes
      return i;
    } else if (!multi_line && (text[i] == quote || text[i] == '\n')) {
      return i + (text[i] == quote ? 1 : 0);
    } else {
      ++i;
    }
  }
  return text.size();
}

}  // namespace

std::optional<std::size_t> nested_too_deeply(std::string_view text) {
  std::vector<std::size_t> open;  // for each open bracket, the dots of the key it is the value of
  std::size_t header = 0;         // the dots of the current [section]
  std::size_t above = 0;          // the sum of `open`, plus one for each bracket
  std::size_t dots = 0;           // of the key being read
  bool line_start = true, in_header = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = after_string(text, i);
      line_start = false;
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '\n' && open.empty()) {
      if (in_header) header = dots;
      dots = 0;
      line_start = true;
      in_header = false;
    } else if ((c == '[' || c == '{') && open.empty() && line_start) {
      in_header = true;
      header = 0;
    } else if ((c == '[' || c == '{') && !in_header) {
      open.push_back(dots);
      above += dots + 1;
      dots = 0;
    } else if ((c == ']' || c == '}') && !open.empty()) {
      dots = open.back();
      above -= dots + 1;
      open.pop_back();
    } else if (c == ',') {
      dots = 0;
    } else if (c == '.') {
      ++dots;
    }
    if (header + above + dots > deepest_nesting) return i;
    if (c != '\n' && c != ' ' && c != '\t' && c != '\r' && !in_header) line_start = false;
    ++i;
  }
  return std::nullopt;
}

}  // namespace runner
