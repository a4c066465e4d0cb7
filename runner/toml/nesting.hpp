#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace runner {

constexpr std::size_t deepest_nesting = 100;  // of tables and lists; no recipe comes near

// The offset at which TOML text nests deeper than that, if it does. Checked before parsing, because the
// parser limits only values, not dotted keys, and later code walks the tree recursively.
std::optional<std::size_t> nested_too_deeply(std::string_view text);

}  // namespace runner
