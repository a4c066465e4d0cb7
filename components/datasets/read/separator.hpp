#pragma once

#include "components/datasets/columns/table_part.hpp"

namespace runner {

// Detects the separator of a table: the one of comma, semicolon, tab and bar with which all of the first rows
// have the same number of values. If that is true of several, the one that gives most numeric columns
// ("0,5;1,5" has semicolons); if it is true of none, the most frequent one in the first row.
char find_separator(std::string_view text, TableFormat format);
char separator_of_file(const std::filesystem::path& file, const TableFormat& format);

}  // namespace runner
