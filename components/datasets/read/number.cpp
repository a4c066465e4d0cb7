#include "components/datasets/read/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "registry/base/ascii.hpp"
#include "registry/base/trimmed.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

std::optional<double> parse_plain(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);  // from_chars accepts no plus
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  // Too large or too small: only strtod distinguishes the two.
  return error == std::errc::result_out_of_range ? std::strtod(std::string(text).c_str(), nullptr) : value;
}

// In the usual notation; no value if the separators are not between groups of three digits.
std::optional<std::string> in_usual_notation(const std::string& text, const NumberFormat& format) {
  const std::size_t point = std::min(text.find(format.decimal), text.size());
  std::string whole = text.substr(0, point);
  if (format.decimal != '.' && text.find('.') != std::string::npos && format.thousands != '.')
    return std::nullopt;
  if (format.thousands && whole.find(format.thousands) != std::string::npos) {
    std::size_t digits = 0;
    for (std::size_t i = whole.size(); i-- > 0;) {
      if (whole[i] == format.thousands) {
        if (digits != 3 || i == 0 || !is_digit(whole[i - 1])) return std::nullopt;
        digits = 0;
      } else {
        digits += is_digit(whole[i]);
      }
    }
    if (digits > 3 || whole[whole.find_first_not_of("+-")] == '0')
      return std::nullopt;  // "0,950" has decimals
    std::erase(whole, format.thousands);
  }
  return point < text.size() ? whole + "." + text.substr(point + 1) : whole;
}

bool is_ascii(std::string_view text) {
  return std::ranges::none_of(text, [](char letter) { return static_cast<unsigned char>(letter) >= 0x80; });
}

}  // namespace

std::string usual_signs(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, char>, 7> others{
      {{"\xC2\xA0", ' '},       // no-break space
       {"\xE2\x80\xAF", ' '},   // narrow one
       {"\xE2\x80\x89", ' '},   // thin space
       {"\xE2\x80\x87", ' '},   // figure space
       {"\xE2\x80\x99", '\''},  // typeset apostrophe
       {"\xE2\x88\x92", '-'},   // typeset minus
       {"\t", ' '}}};
  std::string plain;
  while (!text.empty()) {
    const auto other =
        std::ranges::find_if(others, [&](const auto& one) { return text.starts_with(one.first); });
    plain += other == others.end() ? text.front() : other->second;
    text.remove_prefix(other == others.end() ? 1 : other->first.size());
  }
  return std::string(trimmed(plain));
}

std::string without_units(std::string_view text, const std::vector<std::string>& units) {
  std::string sign;
  if (text.starts_with('-') || text.starts_with('+')) {
    sign = text.substr(0, 1);
    text.remove_prefix(1);
  }
  for (const std::string& unit : units) {
    if (text.starts_with(unit)) text.remove_prefix(unit.size());
    if (text.ends_with(unit)) text.remove_suffix(unit.size());
    text = trimmed(text);
  }
  return sign + std::string(text);
}

std::optional<double> parse_number(std::string_view text, const NumberFormat& format) {
  if (!is_ascii(text)) {
    const std::string plain = usual_signs(text);
    if (plain != text) return parse_number(plain, format);
  }
  if (format.decimal == '.' && !format.thousands && format.units.empty()) return parse_plain(text);
  const auto usual = in_usual_notation(without_units(text, format.units), format);
  return usual ? parse_plain(*usual) : std::nullopt;
}

std::vector<std::string> usual_units(std::string_view text) {
  static const std::array<std::string, 9> units{"€", "US$", "$", "£", "¥", "%", "₹", "USD", "EUR"};
  std::vector<std::string> used;
  for (const std::string& unit : units) {
    if (text.starts_with(unit) || text.ends_with(unit) || text.starts_with("-" + unit)) {
      used.push_back(unit);
      text = text.ends_with(unit) ? text.substr(0, text.size() - unit.size())
                                  : text.substr(text.find(unit) + unit.size());
    }
  }
  return used;
}

std::optional<NumberFormat> other_notation(std::string_view text) {
  if (std::ranges::none_of(text, is_digit)) return std::nullopt;
  const std::vector<std::string> used = usual_units(text);
  for (const auto& [decimal, thousands] :
       {std::pair{'.', '\0'}, {',', '\0'}, {'.', ','}, {',', '.'}, {'.', '\''}, {'.', ' '}, {',', ' '}}) {
    const NumberFormat format{decimal, thousands, used};
    const auto number = parse_number(text, format);
    if (number && std::isfinite(*number)) return format;
  }
  return std::nullopt;
}

std::string number_remedy(NumberUse use) {
  return use == NumberUse::target ? "Correct it, or remove the row"
                                  : "Correct it, or add it to dataset.missing";
}

double finite_number(const RowReader& row, std::size_t column, const NumberFormat& format, NumberUse use) {
  const std::string_view text = row.values()[column];
  const auto number = parse_number(text, format);
  if (!number) {
    const char* other_use = use == NumberUse::target
                                ? "; to predict classes, set dataset.task = \"classification\""
                                : ", or name the column in dataset.categorical or dataset.ignore";
    row.fail(column, in_quotes(text) + " is not a number. " + number_remedy(use) + other_use +
                         "; dataset.decimal, thousands and units say how numbers are written");
  }
  if (!std::isfinite(static_cast<float>(*number))) {
    const bool too_large = !std::isnan(*number) && std::ranges::any_of(text, is_digit);  // not "inf"
    row.fail(column, in_quotes(text) +
                         (too_large ? " is too large: numbers up to 3.4e38 can be used. "
                                    : " is not a finite number. ") +
                         number_remedy(use));
  }
  return *number;
}

}  // namespace runner
