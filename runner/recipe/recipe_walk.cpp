#include "runner/recipe/recipe_walk.hpp"

namespace runner {

namespace {

class Walk {
 public:
  Walk(const Registry& registry, const RecipeVisitor& visitor) : registry_(registry), visitor_(visitor) {}

  void table(Value& value, const Schema& schema, const std::string& path) {
    for (const FieldInfo& field : schema.fields) {
      Value* member = value.as<Table>()->find(field.name);
      if (member) any(*member, field, field.type, path + std::string(field.name));
    }
  }

 private:
  void any(Value& value, const FieldInfo& field, const TypeInfo& type, const std::string& key) {
    if (type.kind == TypeInfo::Kind::either) {
      if (const TypeInfo* chosen = alternative_for(value, type)) any(value, field, *chosen, key);
    } else if (auto* list = value.as<Array>()) {
      for (std::size_t i = 0; i < list->size(); ++i)
        any((*list)[i], field, *type.element, key + "." + std::to_string(i));
    } else if (type.kind == TypeInfo::Kind::map) {
      for (Member& member : *value.as<Table>())
        any(member.value, field, *type.element, key + "." + member.key);
    } else if (type.kind == TypeInfo::Kind::table) {
      table(value, type.schema(), key + ".");
    } else if (type.kind == TypeInfo::Kind::part) {
      const std::string& name = *value.as<Table>()->find("name")->as<std::string>();
      const Descriptor& component = find_component(registry_, type.part_kind, name);
      visitor_.component(component);
      table(value, component.schema(), key + ".");
    } else {
      visitor_.setting(value, field, key);
    }
  }

  const Registry& registry_;
  const RecipeVisitor& visitor_;
};

}  // namespace

void walk_recipe(Value& resolved, const Schema& schema, const Registry& registry,
                 const RecipeVisitor& visitor) {
  Walk(registry, visitor).table(resolved, schema, "");
}

}  // namespace runner
