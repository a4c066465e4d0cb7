#include "runner/describe/kinds.hpp"

#include <algorithm>

namespace runner {

namespace {

void search(const Schema& schema, const Registry& registry, std::string_view kind, const std::string& prefix,
            std::vector<PartPlace>& found) {
  for (const FieldInfo& field : schema.fields) {
    const bool in_list = field.type.kind == TypeInfo::Kind::list;
    const TypeInfo& type = in_list ? *field.type.element : field.type;
    const std::string path = prefix + std::string(field.name);
    if (type.kind == TypeInfo::Kind::table && !in_list)
      search(type.schema(), registry, kind, path + ".", found);
    if (type.kind != TypeInfo::Kind::part) continue;
    if (type.part_kind == kind) found.push_back({path, in_list});
    // The common parameters of a kind may contain parts of another kind. Those of the kind itself are not
    // searched, which would never end.
    const KindInfo* holder = find_kind(registry, type.part_kind);
    if (holder && holder->name != kind) search(holder->common(), registry, kind, path + ".", found);
  }
}

}  // namespace

std::vector<PartPlace> places_of_kind(const Schema& recipe, const Registry& registry, std::string_view kind) {
  std::vector<PartPlace> found;
  search(recipe, registry, kind, "", found);
  return found;
}

const KindInfo* find_kind(const Registry& registry, std::string_view name) {
  const auto kinds = registry.kinds();
  const auto found = std::ranges::find(kinds, name, [](const KindInfo* kind) { return kind->name; });
  return found == kinds.end() ? nullptr : *found;
}

std::vector<std::string> kind_names(const Registry& registry) {
  std::vector<std::string> names;
  for (const KindInfo* kind : registry.kinds()) names.emplace_back(kind->name);
  return names;
}

}  // namespace runner
