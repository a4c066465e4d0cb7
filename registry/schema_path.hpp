#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// A key of a table, or the index of an element of a list.
struct KnownKey {
  std::string name;
  FieldInfo field;
};

// Finds the field for a dotted path such as "optimizer.group.0.match". The keys of a part depend on the
// component that the tree names, so a path is followed through schema and tree together.
class SchemaPath {
 public:
  SchemaPath(const Schema& root, const Registry& registry) : root_(root), registry_(registry) {}

  // The field at the path; for an element of a list or a map, the field of one element. None: there is no
  // such path.
  std::optional<FieldInfo> find(const Value& tree, std::string_view path) const;

  // What may follow "path.": the keys of a table or a part, the indices of a list. An empty path: the
  // sections.
  std::vector<KnownKey> keys(const Value& tree, std::string_view path) const;

  // All settings of this name, in any section: "lr" is optimizer.lr. If the tree does not name the component
  // of a section, every component of its kind is searched.
  std::vector<std::string> settings_named(const Value& tree, std::string_view key) const;

  // The default of a key, if it has one.
  std::optional<Value> default_of(const Value& tree, std::string_view path) const;

 private:
  struct Stop;
  std::optional<Stop> walk(const Value& tree, std::string_view path) const;
  std::vector<KnownKey> members(const Stop& stop) const;

  const Schema& root_;
  const Registry& registry_;
};

// The component that the tree names for this field, or its default.
const Descriptor* named_component(const Registry& registry, const FieldInfo& part, const Value* value);

}  // namespace runner
