#include "components/datasets/read/notation.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "registry/base/ascii.hpp"
#include "registry/base/trimmed.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

struct Marks {
  char decimal, thousands;
};
// Those without thousands come first: they are preferred if no value needs them.
constexpr std::array<Marks, 7> marks{
    {{'.', '\0'}, {',', '\0'}, {'.', ','}, {',', '.'}, {'.', '\''}, {'.', ' '}, {',', ' '}}};
constexpr std::size_t decimal_comma = 1, thousands_comma = 2;
constexpr std::size_t comma = 0, point = 1;
constexpr std::size_t few = 20;  // with more different values, "36 months" is a number, not a category

NumberFormat format_of(std::size_t candidate, const std::vector<std::string>& units) {
  return {marks[candidate].decimal, marks[candidate].thousands, units};
}

// "2,900", but neither "0,900" nor "2,90": a group of three digits after one to three.
bool is_group_of_three(std::string_view digits, char mark) {
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  const std::size_t at = digits.find(mark);
  return at >= 1 && at <= 3 && digits.size() == at + 4 && digits[0] != '0' &&
         std::ranges::all_of(digits.substr(0, at), is_digit) &&
         std::ranges::all_of(digits.substr(at + 1), is_digit);
}

}  // namespace

std::string_view unit_after(std::string_view text) {
  constexpr std::size_t longest = 12;
  if (text.empty() || !(is_digit(text[0]) || text[0] == '-' || text[0] == '+' || text[0] == '.')) return {};
  const std::size_t end = text.find_last_of("0123456789") + 1;
  const std::string_view unit = trimmed(text.substr(end));
  const bool letters = std::ranges::any_of(unit, [](char one) {
    return static_cast<unsigned char>(one) >= 0x80 || (ascii_lower(one) >= 'a' && ascii_lower(one) <= 'z');
  });
  return end > 0 && letters && unit.size() <= longest ? unit : std::string_view();
}

void ColumnNotation::add(std::string_view written) {
  const std::string text = usual_signs(written);
  ++values_;
  if (different_.size() <= few && !different_.contains(text)) different_.emplace(text);
  std::vector<std::string> used = usual_units(text);
  if (const std::string_view other = unit_after(text); used.empty() && !other.empty()) {
    used.emplace_back(other);
    ++with_other_unit_;
  }
  for (const std::string& unit : used) {
    constexpr std::size_t most_units = 8;
    if (units_.size() < most_units && std::ranges::find(units_, unit) == units_.end()) units_.push_back(unit);
  }
  for (std::size_t i = 0; i < candidates; ++i) {
    const auto number = parse_number(text, format_of(i, used));
    if (!number || !std::isfinite(*number)) continue;
    ++read_[i];
    fractions_ = fractions_ || std::trunc(*number) != *number;
  }
  const std::string digits = without_units(text, used);
  for (const auto& [which, mark] : {std::pair{comma, ','}, {point, '.'}}) {
    if (!is_group_of_three(digits, mark)) continue;
    Groups& found = groups_[which];
    ++found.of_three;
    found.round = found.round || digits.ends_with('0');
    if (found.example.empty()) found.example = text;
  }
  if (!digits.empty() && std::ranges::all_of(digits, is_digit)) ++(digits.size() <= 3 ? small_ : large_);
}

std::int64_t ColumnNotation::most_read() const { return *std::ranges::max_element(read_); }

NumberFormat ColumnNotation::format() const {
  return format_of(static_cast<std::size_t>(std::ranges::max_element(read_) - read_.begin()), units_);
}

bool ColumnNotation::numeric() const {
  if (values_ == 0 || most_read() != values_) return false;
  return with_other_unit_ == 0 || (units_.size() == 1 && (fractions_ || different_.size() > few));
}

bool ColumnNotation::nearly_numeric() const {
  return with_other_unit_ == 0 && values_ > 0 && 10 * most_read() >= 9 * values_;
}

bool ColumnNotation::in_different_units() const {
  return with_other_unit_ > 0 && units_.size() > 1 && most_read() == values_ &&
         (fractions_ || different_.size() > few);
}

TableNotation::TableNotation(const std::vector<const ColumnNotation*>& columns, char separator) {
  std::array<std::int64_t, marks.size()> fits{};
  for (const ColumnNotation* column : columns) {
    if (!column->numeric()) continue;
    for (std::size_t i = 0; i < marks.size(); ++i) fits[i] += column->read_[i] == column->values_;
    for (const std::string& unit : column->units_) {
      if (std::ranges::find(format_.units, unit) == format_.units.end()) format_.units.push_back(unit);
    }
  }
  auto best = static_cast<std::size_t>(std::ranges::max_element(fits) - fits.begin());  // the first of equals
  if (best == decimal_comma && fits[thousands_comma] == fits[best]) {
    // Every comma is followed by three digits. Thousands stand beside whole numbers below 1000, and end in
    // zeros, which decimals rarely do; files that are separated by commas are written where a point is
    // decimal.
    int evidence = separator == ';' ? -1 : separator == ',' ? 1 : 0;
    for (const ColumnNotation* column : columns) {
      const auto& [of_three, round, example] = column->groups_[comma];
      if (!column->numeric() || of_three == 0) continue;
      if (example_.empty()) example_ = example;
      evidence += column->large_ > 0 ? -1 : column->small_ > 0 ? 1 : 0;
      evidence += round && column->small_ > 0;
    }
    if (evidence > 0) best = thousands_comma;
    sure_ = std::abs(evidence) > 1;
  }
  if (best == 0) {  // "2.900" beside "372" may be thousands, too
    for (const ColumnNotation* column : columns) {
      const auto& [of_three, round, example] = column->groups_[point];
      if (!column->numeric() || of_three == 0 || column->large_ > 0 || column->small_ == 0 || !round)
        continue;
      if (of_three + column->small_ != column->values_) continue;
      example_ = example;
      sure_ = false;
    }
  }
  format_.decimal = marks[best].decimal;
  format_.thousands = marks[best].thousands;
}

std::string notation_settings(const NumberFormat& format, const NumberFormat& current) {
  std::vector<std::string> settings;
  if (format.decimal != current.decimal)
    settings.push_back(std::string("dataset.decimal = \"") + format.decimal + "\"");
  if (format.thousands != current.thousands)
    settings.push_back(format.thousands ? std::string("dataset.thousands = \"") + format.thousands + "\""
                                        : "without dataset.thousands");
  std::vector<std::string> units;
  for (const std::string& unit : format.units) units.push_back(in_quotes(unit));
  if (format.units != current.units && !units.empty())
    settings.push_back("dataset.units = [" + joined(units) + "]");
  return joined(settings);
}

}  // namespace runner
