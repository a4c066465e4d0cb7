#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "components/datasets/read/csv_reader.hpp"

namespace runner {

// How a table writes its numbers.
struct NumberFormat {
  char decimal = '.';
  char thousands = 0;                   // between groups of three digits; 0: none
  std::vector<std::string> units = {};  // may be before or after a number: "€", "%"
};

// The number if the whole text is one; "inf", "nan" and numbers too large for a double are not finite.
std::optional<double> parse_number(std::string_view text, const NumberFormat& format = {});

// Units that may stand before or after a number, and are in this text: "€", "%".
std::vector<std::string> usual_units(std::string_view text);
// Without these units and the spaces around them; the sign may come before the unit: "-$5".
std::string without_units(std::string_view text, const std::vector<std::string>& units);
// With the plain characters for other spaces, apostrophes and minus signs, as tables of publishers have them,
// and without spaces around it.
std::string usual_signs(std::string_view text);

// The format of the text if it is a number in an unusual notation: "1.234,50", "1,234", "€ 12", "12 %". No
// value if it is not a number in any of them.
std::optional<NumberFormat> other_notation(std::string_view text);

// What a column is for, which decides what can be done about a bad number in it.
enum class NumberUse { input, target };

// The number in a column of a row. Throws IoError with the place if it is not a finite number.
double finite_number(const RowReader& row, std::size_t column, const NumberFormat& format,
                     NumberUse use = NumberUse::input);

// "Correct it, or ..", without a full stop at the end.
std::string number_remedy(NumberUse use);

}  // namespace runner
