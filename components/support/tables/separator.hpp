#pragma once

#include "components/support/tables/table_part.hpp"

namespace runner {

// What separates the values of a table: the one of comma, semicolon, tab and bar that gives each of the first
// rows the same number of values. If several do, the one that makes numbers of most columns ("0,5;1,5" has
// semicolons); if none does, the one that the first row has most of.
char find_separator(std::string_view text, TableFormat format);
char separator_of_file(const std::filesystem::path& file, const TableFormat& format);

}  // namespace runner
