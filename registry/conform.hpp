#pragma once

#include <string>
#include <string_view>

#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// What stands in a recipe where only the user knows the value: `file = "???"`.
inline constexpr std::string_view blank = "???";
enum class Blanks { refused, allowed };

// Holds a tree against a schema. What comes back has every known key exactly once, under its present name, in
// the schema's order, with the defaults filled in and parts written as tables; everything that is wrong is
// reported, all of it. Where nothing was, the result can be decoded, unless blanks are allowed: then they
// stand in the place of what is required and missing.
Value conform(const Value& tree, const Schema& schema, const Registry& registry, Diagnostics& diagnostics,
              Blanks blanks = Blanks::refused);

}  // namespace runner
