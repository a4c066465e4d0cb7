#pragma once

#include <optional>

#include "registry/conform.hpp"
#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"
#include "runner/checkpoint/recipe_changes.hpp"
#include "runner/recipe/load.hpp"

namespace runner {

struct Recipe;

const Schema& recipe_schema();

// From text to the whole recipe, every key present and right: ready to be decoded and to be shown. Nothing
// comes back where anything is wrong; the diagnostics say all of it. With blanks it can be shown, but not
// decoded. The registry takes up what the recipe's plugins bring.
std::optional<Value> resolve_recipe(const RecipeSources& sources, Registry& registry,
                                    Diagnostics& diagnostics, Blanks blanks = Blanks::refused);

// The same for a recipe that was written in C++, checked as if it stood in a file. Paths are relative to the
// current folder, and its plugins may be anywhere.
std::optional<Value> resolve_recipe(const Recipe& recipe, Registry& registry, Diagnostics& diagnostics);

// What differs between a recipe that was saved, as RUN/recipe.toml is, and this one. A saved recipe that can
// no longer be read counts as one change, which may change the results: nobody can say what else differs.
std::vector<RecipeChange> changes_since(const std::filesystem::path& saved, const Value& resolved,
                                        const Registry& registry);

}  // namespace runner
