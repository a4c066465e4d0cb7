#include "runner/resolve.hpp"

#include "registry/codec.hpp"
#include "registry/conform.hpp"
#include "runner/describe/schema_path.hpp"
#include "runner/recipe.hpp"

namespace runner {

const Schema& recipe_schema() { return schema_of<Recipe>(); }

std::optional<Value> resolve_recipe(const RecipeSources& sources, const Registry& registry,
                                    Diagnostics& diagnostics) {
  const SchemaPath paths(recipe_schema(), registry);
  const auto default_of = [&](const Value& tree, std::string_view path) {
    return paths.default_of(tree, path);
  };
  const std::optional<Value> tree = load_recipe(sources, default_of, diagnostics);
  if (!tree) return std::nullopt;
  Value resolved = conform(*tree, recipe_schema(), registry, diagnostics);
  if (!diagnostics.ok()) return std::nullopt;
  return resolved;
}

}  // namespace runner
