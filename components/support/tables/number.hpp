#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "components/support/tables/csv_reader.hpp"

namespace runner {

// How a table writes its numbers.
struct NumberFormat {
  char decimal = '.';
  char thousands = 0;                   // between groups of three digits; 0: nothing
  std::vector<std::string> units = {};  // before or after a number and no part of it: "€", "%"
};

// The number that the whole text is; "inf", "nan" and what is too large for a double are numbers that are not
// finite.
std::optional<double> parse_number(std::string_view text, const NumberFormat& format = {});

// How the text would be written if it is a number in another notation than the usual one: "1.234,50",
// "1,234", "€ 12", "12 %". None: it is no number in any of them.
std::optional<NumberFormat> other_notation(std::string_view text);

// The number in a column of a row; anything else is an error of that place.
double finite_number(const CsvReader& row, std::size_t column, const NumberFormat& format);

}  // namespace runner
