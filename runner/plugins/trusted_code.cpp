#include "runner/plugins/trusted_code.hpp"

#include "registry/base/wording.hpp"
#include "runner/recipe/recipe_walk.hpp"

namespace runner {

std::vector<CodeSetting> code_settings(Value& resolved, const Schema& schema, const Registry& registry) {
  std::vector<CodeSetting> found;
  RecipeVisitor visitor;
  visitor.setting = [&](Value& value, const FieldInfo& field, const std::string& key) {
    if (field.rules.code && value.as<std::string>()) found.push_back({key, &value});
  };
  walk_recipe(resolved, schema, registry, visitor);
  return found;
}

void require_trusted_code(Value& resolved, const Schema& schema, const Registry& registry,
                          const TrustedPlaces& trusted, Diagnostics& diagnostics) {
  for (const auto& [key, value] : code_settings(resolved, schema, registry)) {
    const std::string& file = *value->as<std::string>();
    std::error_code unreachable;
    const bool missing = !std::filesystem::exists(file, unreachable);  // the component reports it
    if (missing || !written_by_recipe(value->origin) || trusted.hold(file)) continue;
    diagnostics.error(value->origin,
                      key + " names a file of code outside the recipe's folder: " + escaped_name(file),
                      trust_hints(key + "=" + escaped_name(file)), "docs/extending.md");
  }
}

}  // namespace runner
