#include "runner/toml/load.hpp"

#include "registry/secrets.hpp"
#include "runner/toml/environment.hpp"
#include "runner/toml/inherit.hpp"
#include "runner/toml/override.hpp"
#include "runner/toml/resolve_references.hpp"

namespace runner {

std::optional<Value> load_recipe(const RecipeSources& sources, const DefaultOf& default_of,
                                 Diagnostics& diagnostics, std::vector<UsedVariable>* used) {
  const std::size_t errors_before = diagnostics.errors();
  int next_layer = 0;
  std::optional<Value> tree = load_inherited(sources.file, next_layer, diagnostics);
  // Even if the recipe cannot be read, overrides are checked for mistakes of their own.
  Value merged = tree ? std::move(*tree) : Value();
  const int environment_layer = next_layer, argument_layer = next_layer + 1;
  apply_environment(sources.environment, environment_layer, merged, default_of, diagnostics);
  for (const std::string& argument : sources.overrides) {
    apply_override(argument, argument_layer, merged, default_of, diagnostics);
  }
  if (diagnostics.errors() == errors_before) {
    resolve_references(merged, sources.environment, default_of, diagnostics, used);
  }
  hide_lines_naming(sources.secret_words, diagnostics);
  if (diagnostics.errors() > errors_before) return std::nullopt;
  return merged;
}

}  // namespace runner
