#pragma once

#include <optional>

#include "registry/conform.hpp"
#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"
#include "runner/recipe/load.hpp"

namespace runner {

const Schema& recipe_schema();

// From text to the whole recipe, every key present and right: ready to be decoded and to be shown. Nothing
// comes back where anything is wrong; the diagnostics say all of it. With blanks it can be shown, but not
// decoded.
std::optional<Value> resolve_recipe(RecipeSources sources, const Registry& registry, Diagnostics& diagnostics,
                                    Blanks blanks = Blanks::refused);

}  // namespace runner
