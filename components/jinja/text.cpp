#include "components/jinja/text.hpp"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <optional>

#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/unicode.hpp"
#include "registry/base/utf8.hpp"

namespace runner::jinja {

namespace {

constexpr auto none = std::string_view::npos;

bool is_any_of(std::string_view character, const std::string& characters) {
  for (std::string_view rest = characters; !rest.empty();) {
    const std::string_view before = rest;
    take_code_point(rest);
    if (before.substr(0, before.size() - rest.size()) == character) return true;
  }
  return false;
}

struct Run {
  std::size_t begin, end;
};

// The words between spaces.
std::vector<Run> words_of(const Text& text) {
  std::vector<Run> words;
  bool inside = false;
  for (std::string_view rest = text.bytes; !rest.empty();) {
    const std::size_t at = text.size() - rest.size();
    const bool space = is_python_space(take_code_point(rest));
    if (!space && !inside) words.push_back({at, text.size()});
    if (space && inside) words.back().end = at;
    inside = !space;
  }
  return words;
}

bool ends_line(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

// With the special rules of Unicode, such as "ß" to "SS", but of no language.
std::string cased(char32_t character, Case wanted) {
  if (wanted == Case::swapped) {
    const auto icu = static_cast<UChar32>(character);
    wanted = u_isUUppercase(icu) ? Case::lower : Case::upper;
  }
  icu::UnicodeString one(static_cast<UChar32>(character));
  if (wanted == Case::lower) {
    one.toLower(icu::Locale::getRoot());
  } else if (wanted == Case::upper) {
    one.toUpper(icu::Locale::getRoot());
  } else {
    one.toTitle(nullptr, icu::Locale::getRoot());
  }
  std::string text;
  one.toUTF8String(text);
  return text;
}

}  // namespace

void Text::append(const Text& other) {
  bytes += other.bytes;
  origins.insert(origins.end(), other.origins.begin(), other.origins.end());
}

void Text::append(std::string_view text, Origin origin) {
  bytes += text;
  origins.insert(origins.end(), text.size(), origin);
}

Text Text::part(std::size_t begin, std::size_t end) const {
  Text text;
  text.bytes = bytes.substr(begin, end - begin);
  text.origins.assign(origins.begin() + static_cast<std::ptrdiff_t>(begin),
                      origins.begin() + static_cast<std::ptrdiff_t>(end));
  return text;
}

std::vector<std::size_t> character_starts(std::string_view text) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (!continues_utf8(text[i])) starts.push_back(i);
  starts.push_back(text.size());
  return starts;
}

Text stripped(const Text& text, bool left, bool right, const std::string* characters) {
  const auto starts = character_starts(text.bytes);
  std::size_t begin = 0, end = starts.size() - 1;
  const auto unwanted = [&](std::size_t i) {
    std::string_view character = text.view().substr(starts[i], starts[i + 1] - starts[i]);
    return characters ? is_any_of(character, *characters) : is_python_space(take_code_point(character));
  };
  while (left && begin < end && unwanted(begin)) ++begin;
  while (right && end > begin && unwanted(end - 1)) --end;
  return text.part(starts[begin], starts[end]);
}

Text replaced(const Text& text, std::string_view from, const Text& to, std::int64_t most) {
  Text out;
  std::size_t done = 0;
  if (from.empty()) {  // between all characters
    const auto starts = character_starts(text.bytes);
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if (most < 0 || static_cast<std::int64_t>(i) < most) out.append(to);
      if (i + 1 < starts.size()) out.append(text.part(starts[i], starts[i + 1]));
    }
    return out;
  }
  for (; most != 0; --most) {
    const std::size_t at = text.view().find(from, done);
    if (at == none) break;
    out.append(text.part(done, at));
    out.append(to);
    done = at + from.size();
  }
  out.append(text.part(done, text.size()));
  return out;
}

std::vector<Text> split(const Text& text, std::string_view separator, std::int64_t most) {
  std::vector<Text> parts;
  std::size_t done = 0;
  for (; most != 0; --most) {
    const std::size_t at = text.view().find(separator, done);
    if (at == none) break;
    parts.push_back(text.part(done, at));
    done = at + separator.size();
  }
  parts.push_back(text.part(done, text.size()));
  return parts;
}

std::vector<Text> split_from_right(const Text& text, std::string_view separator, std::int64_t most) {
  std::vector<Text> parts;
  std::size_t end = text.size();
  for (; most != 0 && end >= separator.size(); --most) {
    const std::size_t at = text.view().substr(0, end).rfind(separator);
    if (at == none) break;
    parts.push_back(text.part(at + separator.size(), end));
    end = at;
  }
  parts.push_back(text.part(0, end));
  std::ranges::reverse(parts);
  return parts;
}

std::vector<Text> split_at_spaces(const Text& text, std::int64_t most, bool from_right) {
  std::vector<Run> words = words_of(text);
  const auto kept = static_cast<std::size_t>(most);
  if (most >= 0 && words.size() > kept) {
    if (from_right) {
      const std::size_t joined = words.size() - kept;
      words[joined - 1].begin = 0;
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(joined - 1));
    } else {
      words[kept].end = text.size();
      words.resize(kept + 1, Run{});
    }
  }
  std::vector<Text> parts;
  for (const Run& word : words) parts.push_back(text.part(word.begin, word.end));
  return parts;
}

std::vector<Text> split_lines(const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  std::size_t begin = 0;
  for (std::string_view rest = text.bytes; !rest.empty();) {
    const std::size_t at = text.size() - rest.size();
    const char32_t character = take_code_point(rest);
    if (!ends_line(character)) continue;
    if (character == '\r' && !rest.empty() && rest.front() == '\n') rest.remove_prefix(1);
    const std::size_t next = text.size() - rest.size();
    lines.push_back(text.part(begin, keep_ends ? next : at));
    begin = next;
  }
  if (begin < text.size()) lines.push_back(text.part(begin, text.size()));
  return lines;
}

Text in_case(const Text& text, Case wanted) {
  Text out;
  bool first = true;
  for (std::string_view rest = text.bytes; !rest.empty();) {
    const std::size_t at = text.size() - rest.size();
    const char32_t character = take_code_point(rest);
    const bool letter = u_isUAlphabetic(static_cast<UChar32>(character));
    Case now = wanted;
    if (wanted == Case::capitalized || wanted == Case::title) now = first ? wanted : Case::lower;
    out.append(cased(character, now), text.origins[at]);
    first = wanted == Case::title && !letter;
  }
  return out;
}

bool is_python_space(char32_t character) {
  return unicode::is_space(character) || (character >= 0x1C && character <= 0x1F);
}

bool is_printable(char32_t character) {
  constexpr std::uint32_t escaped = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CS_MASK | U_GC_CO_MASK | U_GC_CN_MASK |
                                    U_GC_ZL_MASK | U_GC_ZP_MASK | U_GC_ZS_MASK;
  return character == ' ' || (U_GET_GC_MASK(static_cast<UChar32>(character)) & escaped) == 0;
}

}  // namespace runner::jinja
