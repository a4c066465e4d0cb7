#pragma once

#include <optional>

#include "registry/conform.hpp"
#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"
#include "runner/resolve/recipe_changes.hpp"
#include "runner/toml/load.hpp"

namespace runner {

struct Recipe;

const Schema& recipe_schema();

// Turns text into a complete, valid recipe that can be decoded and shown. Returns nothing if there are
// errors, which are all in the diagnostics. With blanks it can be shown, but not decoded. Components of the
// recipe's plugins are added to the registry.
std::optional<Value> resolve_recipe(const RecipeSources& sources, Registry& registry,
                                    Diagnostics& diagnostics, Blanks blanks = Blanks::refused);

// The same for a recipe written in C++, checked like one in a file. Paths are relative to the current folder,
// and its plugins may be in any place.
std::optional<Value> resolve_recipe(const Recipe& recipe, Registry& registry, Diagnostics& diagnostics);

// The differences between a saved recipe, such as RUN/recipe.toml, and this one, and between the data files
// and their description in data.json beside it. A saved recipe that can no longer be read counts as one
// change, which may change the results: what else differs is unknown.
std::vector<RecipeChange> changes_since(const std::filesystem::path& saved, const Value& resolved,
                                        const Registry& registry);

}  // namespace runner
