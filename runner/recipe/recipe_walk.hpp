#pragma once

#include <functional>
#include <string>

#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// Called for each component and setting of a recipe. Each element of a list is a setting of its own.
struct RecipeVisitor {
  std::function<void(const Descriptor& component)> component = [](const auto&) {};
  std::function<void(Value& value, const FieldInfo& field, const std::string& key)> setting =
      [](auto&, const auto&, const auto&) {};  // key: "model.file"
};

// Visits a resolved recipe along its schema, including the settings of every component that it names.
void walk_recipe(Value& resolved, const Schema& schema, const Registry& registry,
                 const RecipeVisitor& visitor);

}  // namespace runner
