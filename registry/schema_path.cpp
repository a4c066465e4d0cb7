#include "registry/schema_path.hpp"

#include <algorithm>
#include <charconv>

namespace runner {

namespace {

const std::string* name_in(const Value* value) {
  if (!value) return nullptr;
  if (const auto* text = value->as<std::string>()) return text;
  const auto* table = value->as<Table>();
  const Value* name = table ? table->find("name") : nullptr;
  return name ? name->as<std::string>() : nullptr;
}

FieldInfo name_field(const Registry& registry, std::string_view kind) {
  FieldInfo field{"name", "Which one.", {TypeInfo::Kind::choice}, {}, std::nullopt};
  for (const Descriptor* descriptor : registry.of_kind(kind)) {
    field.type.choices.push_back({descriptor->name, descriptor->summary});
  }
  field.rules.required = true;
  return field;
}

std::vector<KnownKey> keys_of(const Schema& schema) {
  std::vector<KnownKey> keys;
  for (const FieldInfo& field : schema.fields) keys.push_back({std::string(field.name), field});
  return keys;
}

const Value* child(const Value* parent, std::string_view key) {
  if (!parent) return nullptr;
  if (const auto* table = parent->as<Table>()) return table->find(key);
  const auto* list = parent->as<Array>();
  std::size_t index = 0;
  std::from_chars(key.data(), key.data() + key.size(), index);
  return list && index < list->size() ? &(*list)[index] : nullptr;
}

}  // namespace

struct SchemaPath::Stop {
  FieldInfo field;
  const Value* value;
};

const Descriptor* named_component(const Registry& registry, const FieldInfo& part, const Value* value) {
  const std::string* name = name_in(value);
  if (!name && part.default_value) name = name_in(&*part.default_value);
  return name ? registry.find(part.type.part_kind, *name) : nullptr;
}

std::vector<KnownKey> SchemaPath::members(const Stop& stop) const {
  const TypeInfo& type = stop.field.type;
  const auto* list = stop.value ? stop.value->as<Array>() : nullptr;
  const auto* table = stop.value ? stop.value->as<Table>() : nullptr;
  const auto add_element = [&](std::vector<KnownKey>& keys, std::string name) {
    FieldInfo field{stop.field.name, stop.field.doc, *type.element, stop.field.rules, std::nullopt};
    field.rules.required = false;
    keys.push_back({std::move(name), std::move(field)});
  };
  std::vector<KnownKey> found;
  switch (type.kind) {
    case TypeInfo::Kind::table: return keys_of(type.schema());
    case TypeInfo::Kind::part:
      if (const Descriptor* descriptor = named_component(registry_, stop.field, stop.value)) {
        found = keys_of(descriptor->schema());
      }
      found.insert(found.begin(), {"name", name_field(registry_, type.part_kind)});
      break;
    case TypeInfo::Kind::list:
      for (std::size_t i = 0; list && i < list->size(); ++i) add_element(found, std::to_string(i));
      break;
    case TypeInfo::Kind::either:
      if (const TypeInfo* alternative = stop.value ? alternative_for(*stop.value, type) : nullptr) {
        Stop inside = stop;
        inside.field.type = *alternative;
        return members(inside);
      }
      break;
    case TypeInfo::Kind::map:
      if (!table) break;
      for (const Member& member : *table) add_element(found, member.key);
      break;
    default: break;
  }
  return found;
}

std::optional<SchemaPath::Stop> SchemaPath::walk(const Value& tree, std::string_view path) const {
  const Value* value = &tree;
  std::vector<KnownKey> known = keys_of(root_);
  while (true) {
    const std::string_view key = path.substr(0, path.find('.'));
    const auto found = std::ranges::find(known, key, &KnownKey::name);
    if (found == known.end()) return std::nullopt;
    value = child(value, key);
    Stop stop{found->field, value};
    if (key.size() == path.size()) return stop;
    path.remove_prefix(key.size() + 1);
    known = members(stop);
  }
}

std::optional<FieldInfo> SchemaPath::find(const Value& tree, std::string_view path) const {
  const auto stop = walk(tree, path);
  return stop ? std::optional(stop->field) : std::nullopt;
}

std::vector<KnownKey> SchemaPath::keys(const Value& tree, std::string_view path) const {
  if (path.empty()) return keys_of(root_);
  const auto stop = walk(tree, path);
  return stop ? members(*stop) : std::vector<KnownKey>{};
}

std::vector<std::string> SchemaPath::settings_named(const Value& tree, std::string_view key) const {
  const auto takes_key = [&](const FieldInfo& section) {
    if (section.type.kind == TypeInfo::Kind::table) return section.type.schema().find(key) != nullptr;
    if (section.type.kind != TypeInfo::Kind::part || key == "name") return false;
    if (const Descriptor* named = named_component(registry_, section, child(&tree, section.name)))
      return named->schema().find(key) != nullptr;
    return std::ranges::any_of(registry_.of_kind(section.type.part_kind), [&](const Descriptor* component) {
      return component->schema().find(key) != nullptr;
    });
  };
  std::vector<std::string> found;
  for (const FieldInfo& section : root_.fields) {
    if (takes_key(section)) found.push_back(std::string(section.name) + "." + std::string(key));
  }
  return found;
}

std::optional<Value> SchemaPath::default_of(const Value& tree, std::string_view path) const {
  const auto field = find(tree, path);
  return field ? field->default_value : std::nullopt;
}

}  // namespace runner
