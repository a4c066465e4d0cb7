#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace runner {

// Whole-name matching with `*` (any characters, dots included) and `?` (any one character).
bool matches(std::string_view pattern, std::string_view name);

// Whether the pattern names this parameter or a module that holds it: "fc" and "layer1.*" select "fc.weight"
// and "layer1.0.conv1.weight".
bool selects(std::string_view pattern, std::string_view name);

// The message for a pattern that selects none of these names, with the nearest of the names and modules:
//   model.freeze: "fcc" matches nothing; did you mean "fc"?
std::string nothing_selected(std::string_view setting, std::string_view pattern,
                             const std::vector<std::string>& names);

}  // namespace runner
