#include "runner/resolve.hpp"

#include <algorithm>
#include <tuple>

#include "registry/codec.hpp"
#include "registry/schema_path.hpp"
#include "registry/secrets.hpp"
#include "runner/recipe.hpp"
#include "runner/recipe/stray_variables.hpp"

namespace runner {

const Schema& recipe_schema() { return schema_of<Recipe>(); }

namespace {

// In the order in which a reader meets them: by source, as each was first spoken of, then down the lines.
void sort_by_place(Diagnostics& diagnostics) {
  std::vector<Diagnostic> all = diagnostics.all();
  std::vector<const Source*> sources;
  for (const Diagnostic& diagnostic : all) {
    const Source* source = diagnostic.origin.source.get();
    if (std::ranges::find(sources, source) == sources.end()) sources.push_back(source);
  }
  std::ranges::stable_sort(all, {}, [&](const Diagnostic& diagnostic) {
    const Origin& origin = diagnostic.origin;
    return std::tuple(std::ranges::find(sources, origin.source.get()) - sources.begin(), origin.line,
                      origin.column);
  });
  diagnostics = {};
  for (Diagnostic& diagnostic : all) diagnostics.add(std::move(diagnostic));
}

}  // namespace

std::optional<Value> resolve_recipe(RecipeSources sources, const Registry& registry, Diagnostics& diagnostics,
                                    Blanks blanks) {
  const SchemaPath paths(recipe_schema(), registry);
  const auto default_of = [&](const Value& tree, std::string_view path) {
    return paths.default_of(tree, path);
  };
  // Before the text is understood only its words can tell what must not be shown.
  for (std::string& name : secret_names(recipe_schema(), registry))
    sources.secret_words.push_back(std::move(name));
  const std::optional<Value> tree = load_recipe(sources, default_of, diagnostics);
  if (!tree) return std::nullopt;
  warn_of_stray_variables(sources.environment, paths, *tree, diagnostics);
  Value resolved = conform(*tree, recipe_schema(), registry, diagnostics, blanks);
  sort_by_place(diagnostics);
  if (!diagnostics.ok()) return std::nullopt;
  return resolved;
}

}  // namespace runner
