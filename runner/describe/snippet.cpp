#include "runner/describe/snippet.hpp"

namespace runner {

std::string settings_snippet(const Schema& schema) {
  std::string out;
  for (const FieldInfo& field : schema.fields) {
    const std::string key = key_to_toml(field.name);
    const bool is_section =
        field.type.kind == TypeInfo::Kind::table || field.type.kind == TypeInfo::Kind::part;
    if (field.rules.secret || is_section) continue;
    if (field.default_value) {
      out += key + " = " + to_toml(*field.default_value) + "\n";
    } else {
      out += "# " + key + " = " + (field.required() ? "(required)" : "(optional)") + "\n";
    }
  }
  return out;
}

std::string component_snippet(const Descriptor& descriptor, const std::vector<PartPlace>& places) {
  std::string out = places.empty() ? "" : places.front().header() + "\n";
  return out + "name = " + quote_toml(descriptor.name) + "\n" + settings_snippet(descriptor.own_schema());
}

}  // namespace runner
