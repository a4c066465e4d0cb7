#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "registry/base/wording.hpp"

namespace runner {

// Two columns, the second broken at `width` and aligned; the first may hold colour codes.
std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows,
                        std::string_view indent = "  ", std::size_t width = 110);

// Breaks at spaces so that no line is longer than the width; lines after the first start with the indent.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent);

// Columns on a terminal: colour codes take none, a wide character two.
std::size_t visible_width(std::string_view text);

}  // namespace runner
