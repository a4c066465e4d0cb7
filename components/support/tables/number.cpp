#include "components/support/tables/number.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "registry/wording.hpp"

namespace runner {

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);  // from_chars knows no plus
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  // Too large or too small: only strtod says which.
  return error == std::errc::result_out_of_range ? std::strtod(std::string(text).c_str(), nullptr) : value;
}

double finite_number(const CsvReader& row, std::size_t column) {
  const std::string_view text = row.values()[column];
  const auto number = parse_number(text);
  if (!number) {
    row.fail(column, in_quotes(text) +
                         " is not a number. Correct it, or add it to dataset.missing, or name the column in "
                         "dataset.categorical or dataset.ignore");
  }
  if (!std::isfinite(static_cast<float>(*number))) {
    row.fail(column, in_quotes(text) + " is not a finite number. Correct it, or add it to dataset.missing");
  }
  return *number;
}

}  // namespace runner
