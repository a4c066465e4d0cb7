#pragma once

#include <string>
#include <string_view>

#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// Placeholder in a recipe for a value that only the user knows: `file = "???"`.
inline constexpr std::string_view blank = "???";
enum class Blanks { refused, allowed };

// Whether the value is still to be filled in. A blank is a string, whatever the type of its field.
bool is_blank(const Value& value);

// Checks a tree against a schema and reports all errors. The result has every known key exactly once, under
// its current name, in the order of the schema, with defaults filled in and parts written as tables. If there
// are no errors, it can be decoded, unless blanks are allowed: then they are the values of missing required
// keys.
Value conform(const Value& tree, const Schema& schema, const Registry& registry, Diagnostics& diagnostics,
              Blanks blanks = Blanks::refused);

}  // namespace runner
