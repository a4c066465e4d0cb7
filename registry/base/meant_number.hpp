#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace runner {

// The number that a text probably means, as TOML writes it: "0.5" for ".5", "0,5" and "0.5", "5.0" for "5.".
// None: it is not a number.
std::optional<std::string> meant_number(std::string_view text);

}  // namespace runner
