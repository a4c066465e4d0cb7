#include "registry/unknown_key.hpp"

#include <optional>
#include <vector>

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "registry/schema_path.hpp"
#include "registry/secrets.hpp"

namespace runner {

namespace {

// A key at the top of the recipe that belongs in a section: `lr=0.1`.
std::string known_elsewhere(const Member& unknown, const Table& recipe, const Schema& schema,
                            const Registry& registry) {
  if (unknown.value.as<Table>()) return "";
  const SchemaPath schema_path(schema, registry);
  const Value tree(Value::Data{recipe});
  const bool in_file = !unknown.key_origin.source || unknown.key_origin.source->kind == Source::Kind::file;
  std::vector<std::string> places;
  for (const std::string& path : schema_path.settings_named(tree, unknown.key)) {
    const auto field = schema_path.find(tree, path);
    const bool shown = field && !field->rules.secret && !unknown.value.from_environment &&
                       !holds_password(unknown.value.typed);
    places.push_back(in_file ? in_quotes(unknown.key) + " in [" + path.substr(0, path.find('.')) + "]"
                             : path + "=" + (shown ? unknown.value.typed : ".."));
  }
  return places.empty() ? "" : "did you mean " + joined(places, " or ") + "?";
}

// "tokenizer.vocab_size", if one of the parts in this table has the key that the table itself lacks.
std::optional<std::string> inner_key(const Table& given, const Schema& schema, const Registry& registry,
                                     const std::string& key) {
  for (const FieldInfo& field : schema.fields) {
    if (field.type.kind != TypeInfo::Kind::part) continue;
    const Descriptor* part = named_component(registry, field, given.find(field.name));
    if (part && part->schema().find(key)) return std::string(field.name) + "." + key;
  }
  return std::nullopt;
}

}  // namespace

std::string unknown_key_hint(const Member& unknown, const Table& given, const Schema& schema,
                             const Registry& registry, const std::string& path) {
  const std::string& key = unknown.key;
  if (path.empty()) {
    if (std::string elsewhere = known_elsewhere(unknown, given, schema, registry); !elsewhere.empty())
      return elsewhere;
  }
  if (const auto meant = nearest(key, schema.names()))
    return "did you mean " + in_quotes(*meant) + "?  (" + summary_text(*schema.find(*meant)) + ")";
  if (const auto inner = inner_key(given, schema, registry, key))
    return "it belongs to a part of it: " + in_quotes(key_below(path, *inner));
  return schema.fields.empty() ? "it takes none" : "it has: " + listed(schema.names());
}

}  // namespace runner
