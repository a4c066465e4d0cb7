#include "runner/toml/key_path.hpp"

#include <charconv>

#include "registry/base/ascii.hpp"
#include "registry/base/utf8.hpp"
#include "runner/toml/nesting.hpp"

namespace runner {

std::string KeyPath::text(std::size_t count) const {
  std::string joined;
  for (std::size_t i = 0; i < count; ++i) joined += (i == 0 ? "" : ".") + key_to_toml(parts[i].text);
  return joined;
}

std::variant<KeyPath, KeyProblem> parse_key_path(std::string_view text) {
  KeyPath path;
  for (std::size_t i = 0;; ++i) {  // one part and the dot after it
    if (path.parts.size() == deepest_nesting) return KeyProblem{"the key has too many parts", i, 1};
    const std::size_t start = i;
    if (i < text.size() && (text[i] == '"' || text[i] == '\'')) {
      const auto end = text.find(text[i], i + 1);
      if (end == std::string_view::npos) return KeyProblem{"the quote is never closed", i, text.size() - i};
      const std::string_view inside = text.substr(i + 1, end - i - 1);
      if (!is_utf8(inside)) return KeyProblem{"the key is not valid UTF-8", i, end + 1 - i};
      path.parts.push_back({std::string(inside), start, end + 1 - start});
      i = end + 1;
    } else {
      while (i < text.size() && is_bare_key(text[i])) ++i;
      path.parts.push_back({std::string(text.substr(start, i - start)), start, i - start});
    }
    if (path.parts.back().length == 0) {
      if (i == text.size() || text[i] == '.') return KeyProblem{"a part of the key is missing here", i, 1};
    }
    if (i == text.size()) return path;
    if (text[i] != '.') {
      const std::size_t length = std::max<std::size_t>(1, utf8_length(text.substr(i)));
      return KeyProblem{"a key is made of letters, digits, _ and -; other text needs quotes", i, length};
    }
  }
}

std::optional<std::size_t> list_index(std::string_view part, const Array& list) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (error != std::errc{} || end != part.data() + part.size() || index >= list.size()) return std::nullopt;
  return index;
}

}  // namespace runner
