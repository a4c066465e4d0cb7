#include "runner/resolve/resolve.hpp"

#include <algorithm>
#include <tuple>

#include "registry/codec.hpp"
#include "registry/schema_path.hpp"
#include "registry/secrets.hpp"
#include "runner/plugins/recipe_plugins.hpp"
#include "runner/plugins/trusted_code.hpp"
#include "runner/ranks/membership.hpp"
#include "runner/recipe/recipe.hpp"
#include "runner/resolve/data_files.hpp"
#include "runner/resolve/judge_changes.hpp"
#include "runner/resolve/sent.hpp"
#include "runner/toml/environment.hpp"

namespace runner {

const Schema& recipe_schema() { return schema_of<Recipe>(); }

namespace {

// Sorts by source, in the order in which sources were first mentioned, then by line.
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

// Defaults of keys that are not in the recipe, as its components declare them.
DefaultOf defaults_of(const Registry& registry) {
  return [&registry](const Value& tree, std::string_view path) {
    return SchemaPath(recipe_schema(), registry).default_of(tree, path);
  };
}

std::optional<Value> loaded(RecipeSources sources, const Registry& registry, Diagnostics& diagnostics,
                            std::vector<UsedVariable>* used = nullptr) {
  // Until the text is parsed, only its words show what must be hidden.
  for (std::string& name : secret_names(recipe_schema(), registry))
    sources.secret_words.push_back(std::move(name));
  return load_recipe(sources, defaults_of(registry), diagnostics, used);
}

std::optional<Value> conformed(const Value& tree, const RecipeSources& sources, const Registry& registry,
                               Diagnostics& diagnostics, Blanks blanks) {
  warn_of_stray_variables(sources.environment, SchemaPath(recipe_schema(), registry), tree, diagnostics);
  Value resolved = conform(tree, recipe_schema(), registry, diagnostics, blanks);
  sort_by_place(diagnostics);
  if (!diagnostics.ok()) return std::nullopt;
  return resolved;
}

// The tree that names the plugins: the recipe, or, if its overrides are invalid without the plugins, the
// recipe without those overrides. None: no plugins are named.
std::optional<Value> tree_with_plugins(const std::optional<Value>& tree, const RecipeSources& sources,
                                       const Registry& registry) {
  if (tree) return tree->as<Table>()->find("plugins") ? tree : std::nullopt;
  RecipeSources plain = sources;
  std::erase_if(plain.overrides, [](const std::string& text) { return !text.starts_with("plugins"); });
  if (plain.overrides.size() == sources.overrides.size()) return std::nullopt;
  Diagnostics ignored;
  std::optional<Value> without = load_recipe(plain, defaults_of(registry), ignored);
  return without && without->as<Table>()->find("plugins") ? std::move(without) : std::nullopt;
}

// What a file or a folder holds counts, not its place: data that was moved is the same, and data that was
// edited is not.
void judge_data(std::vector<RecipeChange>& changes, const DataFiles& before, const DataFiles& now) {
  for (const auto& [key, file] : now) {
    const auto saved = before.find(key);
    if (saved == before.end()) continue;
    const auto moved = std::ranges::find(changes, key, &RecipeChange::key);
    if (saved->second == file) {
      if (moved == changes.end()) continue;
      moved->effect = OnResume::harmless;
      moved->why = "the contents are the same";
    } else if (moved == changes.end()) {
      changes.push_back({key, "the contents when the run started", "other contents"});
      if (!file.folder) continue;
      // The folder may contain other files, too: only the dataset knows whether examples have changed.
      changes.back().effect = OnResume::harmless;
      changes.back().why = "unless the files that were added, removed or resized are data";
    }
  }
}

}  // namespace

// A recipe with plugins is read twice: its references and overrides may depend on the plugins' defaults.
std::optional<Value> resolve_recipe(const RecipeSources& sources, Registry& registry,
                                    Diagnostics& diagnostics, Blanks blanks) {
  const TrustedPlaces trusted = trusted_places(sources.file, sources.environment);
  Diagnostics reading;
  std::vector<UsedVariable> used;
  std::optional<Value> tree = loaded(sources, registry, reading, &used);
  if (const auto naming = tree_with_plugins(tree, sources, registry)) {
    load_recipe_plugins(*naming, trusted, registry, diagnostics);
    if (!diagnostics.ok()) return std::nullopt;
    reading = {};
    used.clear();
    tree = loaded(sources, registry, reading, &used);
  }
  for (const Diagnostic& diagnostic : reading.all()) diagnostics.add(diagnostic);
  if (!tree) return std::nullopt;
  auto resolved = conformed(*tree, sources, registry, diagnostics, blanks);
  if (resolved && blanks == Blanks::refused)
    require_trusted_code(*resolved, recipe_schema(), registry, trusted, diagnostics);
  if (resolved && sources.sends)
    require_trust_in_servers(*resolved, used, trusted.list, registry, diagnostics);
  return diagnostics.ok() ? std::move(resolved) : std::nullopt;
}

std::vector<RecipeChange> changes_since(const std::filesystem::path& saved, const Value& resolved,
                                        const Registry& registry) {
  Diagnostics problems;
  const RecipeSources sources{saved, {}, {}};
  const auto tree = loaded(sources, registry, problems);
  // Blanks replace secrets, which are never saved.
  const auto before =
      tree ? conformed(*tree, sources, registry, problems, Blanks::allowed) : std::optional<Value>();
  if (!before)
    return {{saved.filename().string(), "cannot be read: " + problems.first_error(), "this recipe"}};
  std::vector<RecipeChange> changes = recipe_changes(*before, resolved, recipe_schema(), registry);
  judge_by_components(changes, *before, resolved, registry);
  if (const DataFiles before_files = read_data_files(saved.parent_path() / "data.json");
      !before_files.empty())
    judge_data(changes, before_files, data_files(resolved, registry));
  return changes;
}

// A program may name plugins in any folder: there is no recipe file whose folder would limit it.
std::optional<Value> resolve_recipe(const Recipe& recipe, Registry& registry, Diagnostics& diagnostics) {
  const Value tree = encode_table(recipe);
  load_recipe_plugins(tree, trusted_places("", process_environment()), registry, diagnostics);
  if (!diagnostics.ok()) return std::nullopt;
  Value resolved = conform(tree, recipe_schema(), registry, diagnostics);
  if (!diagnostics.ok()) return std::nullopt;
  return resolved;
}

}  // namespace runner
