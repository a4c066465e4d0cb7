#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace runner {

// Edits (insert, delete, replace, swap of neighbours) that turn one word into the other; case is ignored.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that was probably meant, if one is similar enough.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

// The same as a hint: did you mean "momentum"?
std::optional<std::string> did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace runner
