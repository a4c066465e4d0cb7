#pragma once

#include "components/support/tables/table_part.hpp"

namespace runner {

// What stands between two values of the file: of comma, semicolon, tab and bar the one that gives every one
// of its first rows the same number of values, and more than one. Comma where none does.
char find_separator(const std::filesystem::path& file, TableFormat format);

}  // namespace runner
