#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace runner {

constexpr std::size_t deepest_nesting = 100;  // tables and lists in each other; no recipe comes near

// The place where TOML text nests deeper than that. Asked before parsing, because the parser limits values
// only, not dotted keys, and because everything after it walks the tree by recursion.
std::optional<std::size_t> nested_too_deeply(std::string_view text);

}  // namespace runner
