#pragma once

#include <optional>
#include <string_view>

#include "components/support/tables/csv_reader.hpp"

namespace runner {

// The number that the whole text is; "inf", "nan" and what is too large for a double are numbers that are not
// finite.
std::optional<double> parse_number(std::string_view text);

// The number in a column of a row; anything else is an error of that place.
double finite_number(const CsvReader& row, std::size_t column);

}  // namespace runner
