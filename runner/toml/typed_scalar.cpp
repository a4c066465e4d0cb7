#include "runner/toml/typed_scalar.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "registry/base/ascii.hpp"

namespace runner {

namespace {

// The word without its underscores; none if one of them is not between two digits.
std::optional<std::string> plain_digits(std::string_view word) {
  std::string plain;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool between = i > 0 && i + 1 < word.size() &&
                         std::isxdigit(static_cast<unsigned char>(word[i - 1])) &&
                         std::isxdigit(static_cast<unsigned char>(word[i + 1]));
    if (word[i] == '_' && !between) return std::nullopt;
    if (word[i] != '_') plain += word[i];
  }
  return plain;
}

template <class Number, class... Format>
std::optional<Number> whole_text(std::string_view text, Format... format) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, format...);
  const bool all = error == std::errc{} && end == text.data() + text.size();
  return all ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> integer(std::string_view text, bool negative) {
  for (const auto& [prefix, base] : {std::pair("0x", 16), std::pair("0o", 8), std::pair("0b", 2)}) {
    if (!text.starts_with(prefix)) continue;
    const std::string_view digits = text.substr(2);
    return negative || digits.starts_with('-') ? std::nullopt : whole_text<std::int64_t>(digits, base);
  }
  if (!std::ranges::all_of(text, is_digit) || (text.size() > 1 && text.starts_with('0'))) return std::nullopt;
  return whole_text<std::int64_t>((negative ? "-" : "") + std::string(text));
}

// Whether it has digits on both sides of its point, and no leading zeros.
bool is_real(std::string_view text) {
  const std::size_t exponent = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, exponent);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::string_view before = mantissa.substr(0, point);
  const bool whole = exponent == text.size() && point == mantissa.size();
  const bool zeros = before.size() > 1 && before.starts_with('0');
  const bool fraction = point == mantissa.size() || point + 1 < mantissa.size();
  return !whole && !before.empty() && !zeros && fraction && std::ranges::all_of(before, is_digit) &&
         std::ranges::all_of(mantissa.substr(std::min(point + 1, mantissa.size())), is_digit);
}

std::optional<double> real(std::string_view text, bool negative) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "inf") return negative ? -infinity : infinity;
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (!is_real(text)) return std::nullopt;
  std::string spelled = (negative ? "-" : "") + std::string(text);
  // Old libraries reject the plus of an exponent.
  const std::size_t sign = spelled.find_first_of("eE") + 1;  // 0: there is none
  const bool plus =
      sign > 0 && sign + 1 < spelled.size() && spelled[sign] == '+' && is_digit(spelled[sign + 1]);
  if (plus) spelled.erase(sign, 1);
  return whole_text<double>(spelled);
}

// Judged by its form only, because no setting takes a date.
bool is_date(std::string_view word) {
  const auto fits = [&](std::string_view pattern) {
    return word.size() >= pattern.size() &&
           std::ranges::equal(word.substr(0, pattern.size()), pattern,
                              [](char c, char p) { return p == '0' ? is_digit(c) : c == p; });
  };
  const bool only_these = word.find_first_not_of("0123456789:-.+TtZz ") == std::string_view::npos;
  return only_these && (fits("0000-00-00") || fits("00:00"));
}

}  // namespace

std::optional<Value::Data> typed_scalar(std::string_view word) {
  if (word == "true") return true;
  if (word == "false") return false;
  const bool signed_word = word.starts_with('+') || word.starts_with('-');
  const bool negative = word.starts_with('-');
  const auto plain = plain_digits(word.substr(signed_word ? 1 : 0));
  if (plain) {
    if (const auto whole = integer(*plain, negative)) return *whole;
    if (const auto number = real(*plain, negative)) return *number;
  }
  if (is_date(word)) return Date{std::string(word)};
  return std::nullopt;
}

}  // namespace runner
