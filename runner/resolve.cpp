#include "runner/resolve.hpp"

#include <algorithm>
#include <tuple>

#include "registry/codec.hpp"
#include "registry/schema_path.hpp"
#include "registry/secrets.hpp"
#include "runner/plugins/recipe_plugins.hpp"
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

// Defaults of keys that the recipe leaves out, as its components say them.
DefaultOf defaults_of(const Registry& registry) {
  return [&registry](const Value& tree, std::string_view path) {
    return SchemaPath(recipe_schema(), registry).default_of(tree, path);
  };
}

// Overrides that make no sense yet are left out: what is wrong with them is said once plugins are there.
void load_plugins_of(const RecipeSources& sources, Registry& registry, Diagnostics& diagnostics) {
  RecipeSources plain = sources;
  std::erase_if(plain.overrides, [](const std::string& text) { return !text.starts_with("plugins"); });
  for (const RecipeSources* tried : {&sources, static_cast<const RecipeSources*>(&plain)}) {
    Diagnostics ignored;
    const auto tree = load_recipe(*tried, defaults_of(registry), ignored);
    if (tree) return load_recipe_plugins(*tree, sources.environment, registry, diagnostics);
  }
}

std::optional<Value> conformed(RecipeSources sources, const Registry& registry, Diagnostics& diagnostics,
                               Blanks blanks) {
  // Before the text is understood only its words can tell what must not be shown.
  for (std::string& name : secret_names(recipe_schema(), registry))
    sources.secret_words.push_back(std::move(name));
  const std::optional<Value> tree = load_recipe(sources, defaults_of(registry), diagnostics);
  if (!tree) return std::nullopt;
  warn_of_stray_variables(sources.environment, SchemaPath(recipe_schema(), registry), *tree, diagnostics);
  Value resolved = conform(*tree, recipe_schema(), registry, diagnostics, blanks);
  sort_by_place(diagnostics);
  if (!diagnostics.ok()) return std::nullopt;
  return resolved;
}

}  // namespace

std::optional<Value> resolve_recipe(RecipeSources sources, Registry& registry, Diagnostics& diagnostics,
                                    Blanks blanks) {
  // Overrides and references may build on a default that only a plugin knows, so plugins come first.
  load_plugins_of(sources, registry, diagnostics);
  if (!diagnostics.ok()) return std::nullopt;
  return conformed(std::move(sources), registry, diagnostics, blanks);
}

std::vector<RecipeChange> changes_since(const std::filesystem::path& saved, const Value& resolved,
                                        const Registry& registry) {
  Diagnostics ignored;
  const auto before = conformed({saved, {}, {}}, registry, ignored, Blanks::refused);
  if (!before) return {};
  std::vector<RecipeChange> changes = recipe_changes(*before, resolved, recipe_schema(), registry);
  // Where plugins and the run itself lie changes nothing: a run names its own copies, and leaves run.dir out.
  std::erase_if(changes, [](const RecipeChange& change) {
    return change.key.starts_with("plugins") || change.key == "run.dir";
  });
  return changes;
}

std::optional<Value> resolve_recipe(const Recipe& recipe, const Registry& registry,
                                    Diagnostics& diagnostics) {
  Value resolved = conform(encode_table(recipe), recipe_schema(), registry, diagnostics);
  if (!diagnostics.ok()) return std::nullopt;
  return resolved;
}

}  // namespace runner
