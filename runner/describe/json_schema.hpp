#pragma once

#include <nlohmann/json_fwd.hpp>

#include "registry/registry.hpp"
#include "registry/schema.hpp"

namespace runner {

// JSON Schema (draft 2020-12) of whole recipes, for editors. It finds what `runner check` finds in a single
// file, as far as a schema can.
nlohmann::ordered_json json_schema(const Schema& recipe, const Registry& registry);

}  // namespace runner
