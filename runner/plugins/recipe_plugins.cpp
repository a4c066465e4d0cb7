#include "runner/plugins/recipe_plugins.hpp"

#include "runner/plugins/find_plugin.hpp"
#include "runner/plugins/load_plugin.hpp"
#include "runner/plugins/plugin_error.hpp"

namespace runner {

void load_recipe_plugins(const Value& tree, const TrustedPlaces& trusted, Registry& registry,
                         Diagnostics& diagnostics) {
  const Table* table = tree.as<Table>();
  const Value* plugins = table ? table->find("plugins") : nullptr;
  const Array* names = plugins ? plugins->as<Array>() : nullptr;
  if (!names || names->empty()) return;
  for (const Value& name : *names) {
    const auto* text = name.as<std::string>();
    if (!text || text->empty()) continue;  // the schema reports it
    try {
      load_plugin(find_plugin(*text, name.origin, trusted));
    } catch (const PluginError& error) {
      diagnostics.error(name.origin, error.what(), error.hints, "docs/extending.md");
    }
  }
  if (!diagnostics.ok()) return;
  Registry with_plugins = Registry::of_linked();
  for (const std::string& conflict : with_plugins.conflicts())
    diagnostics.error(plugins->origin, conflict, {"a recipe can use only one of them"});
  if (diagnostics.ok()) registry = std::move(with_plugins);
}

}  // namespace runner
