#include "runner/toml/toml_problem.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "registry/base/meant_number.hpp"
#include "registry/base/trimmed.hpp"

namespace runner {

namespace {

bool ends_word(char c) { return std::string_view(" \t\r\n,]}[{#\"'=").find(c) != std::string_view::npos; }

// The unquoted value at which the parser failed, such as hello, 5ep or /data; empty if it was no value.
std::string_view unquoted_value(std::string_view text, std::size_t offset) {
  std::size_t begin = std::min(offset, text.size()), end = begin;
  while (begin > 0 && !ends_word(text[begin - 1])) --begin;
  while (end < text.size() && !ends_word(text[end])) ++end;
  std::string_view before = text.substr(0, begin);
  before.remove_prefix(std::min(before.rfind('\n') + 1, before.size()));
  const auto last = before.find_last_not_of(" \t");
  if (last == std::string_view::npos) return "";
  const bool in_list =
      before[last] == ',' || (before[last] == '[' && before.find('=') != std::string_view::npos);
  return before[last] == '=' || in_list ? text.substr(begin, end - begin) : "";
}

bool is_plain_number(std::string_view word) {
  return word.find_first_not_of("0123456789+-_.") == std::string_view::npos;
}

// 1e400: a number outside the range of a double.
bool beyond_any_number(std::string_view word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc::result_out_of_range && end == word.data() + word.size();
}

std::string_view line_at(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const std::size_t begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;  // npos + 1 is 0
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The start of a string that is not closed on this line, if there is one.
std::optional<std::size_t> unclosed_quote(std::string_view line) {
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (open && line[*open] == '"' && line[i] == '\\') {
      ++i;
    } else if (open) {
      if (line[i] == line[*open]) open.reset();
    } else if (line[i] == '#') {
      return std::nullopt;
    } else if (line[i] == '"' || line[i] == '\'') {
      open = i;
    }
  }
  return open;
}

// "lr: 0.001" as TOML writes it. A value that is not a number may be a secret, so it is left out.
std::string with_equals(std::string_view line, std::size_t colon) {
  constexpr std::string_view blanks = " \t";
  const std::string_view value = trimmed(line.substr(colon + 1), blanks);
  const bool harmless =
      !value.empty() && value.find_first_not_of("0123456789+-_.e") == std::string_view::npos;
  return std::string(trimmed(line.substr(0, colon), blanks)) + " = " + (harmless ? std::string(value) : "..");
}

// Without the parser's own details, and without the text that it found: that may be a secret, and the line
// shows it anyway.
std::string plain_description(std::string_view description) {
  constexpr std::string_view prefix = "Error while parsing ";
  if (description.starts_with(prefix)) description.remove_prefix(prefix.size());
  if (description.find("not representable") != std::string_view::npos) return "this number is out of range";
  std::string text(description.substr(0, description.find(", saw ")));
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

}  // namespace

TomlProblem explain_toml_error(std::string_view description, std::string_view text, std::size_t offset) {
  TomlProblem problem{"not valid TOML: " + plain_description(description), {}, offset, 1};
  const auto says = [&](std::string_view part) { return description.find(part) != std::string_view::npos; };
  const std::string_view word = unquoted_value(text, offset);
  const std::string_view line = line_at(text, offset);
  const auto line_start = static_cast<std::size_t>(line.data() - text.data());
  const std::size_t column = std::min(offset, text.size()) - line_start;
  const bool line_ends = column >= line.size();
  if (says("utf-8")) {
    problem.hints = {"save the file as UTF-8"};
  } else if (const auto quote = unclosed_quote(line); quote && line_ends && !says("multi-line")) {
    problem.message = "not valid TOML: the closing quote is missing";
    problem.offset = line_start + *quote;
    problem.length = line.size() - *quote;
  } else if (says("expected '='") && !line_ends && line[column] == ':') {
    problem.message = "not valid TOML: a key and its value are separated by =, not by a colon";
    problem.hints = {"write " + with_equals(line, column)};
  } else if (says("not representable") || beyond_any_number(word)) {
    problem.message = "not valid TOML: this number is out of range";
    problem.length = std::max<std::size_t>(1, word.size());
    if (!word.empty()) problem.offset = static_cast<std::size_t>(word.data() - text.data());
  } else if (says("cannot redefine")) {
    const std::size_t open = description.find('\''), close = description.rfind('\'');
    const bool named = open < close && close != std::string_view::npos;
    const std::string_view name = named ? description.substr(open + 1, close - open - 1) : "";
    // The parser garbles a key in quotes, and the line shows it anyway.
    const bool as_written = named && line.find(name) != std::string_view::npos;
    problem.message = "not valid TOML: duplicate key" + (as_written ? " " + std::string(name) : "");
    problem.hints = {"a key or [section] may appear only once; a list of tables repeats [[section]]"};
  } else if (says("leading zeroes")) {
    problem.hints = {"write the number without them, or as a string in quotes"};
  } else if (const auto meant = meant_number(word); meant && *meant != word) {
    problem.message = "not valid TOML: a number has digits on both sides of its point";
    problem.hints = {"write " + *meant};
    problem.offset = static_cast<std::size_t>(word.data() - text.data());
    problem.length = word.size();
  } else if (!word.empty() && !is_plain_number(word)) {
    problem.message = "not valid TOML: this is not a value";
    problem.hints = {"text, durations and sizes need quotes: key = \"text\""};
    if (word == "True" || word == "False") problem.hints = {"true and false are written in lower case"};
    if (word == "None" || word == "null") problem.hints = {"remove the key instead"};
    problem.offset = static_cast<std::size_t>(word.data() - text.data());
    problem.length = word.size();
  }
  return problem;
}

}  // namespace runner
