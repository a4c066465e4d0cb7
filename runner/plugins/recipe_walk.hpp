#pragma once

#include <functional>
#include <string>

#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// What is met on the way through a recipe. Of a list, each item counts as a setting of its own.
struct RecipeVisitor {
  std::function<void(const Descriptor& component)> component = [](const auto&) {};
  std::function<void(Value& value, const FieldInfo& field, const std::string& key)> setting =
      [](auto&, const auto&, const auto&) {};  // key: "model.file"
};

// Goes through a resolved recipe with its schema, into every component that it names.
void walk_recipe(Value& resolved, const Schema& schema, const Registry& registry,
                 const RecipeVisitor& visitor);

}  // namespace runner
