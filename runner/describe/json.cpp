#include "runner/describe/json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "registry/base/controls.hpp"
#include "registry/component.hpp"

namespace runner {

using Json = nlohmann::ordered_json;

Json to_json(const Value& value) {
  if (const auto* flag = value.as<bool>()) return *flag;
  if (const auto* integer = value.as<std::int64_t>()) return *integer;
  if (const auto* number = value.as<double>()) return *number;
  if (const auto* text = value.as<std::string>()) return *text;
  if (const auto* date = value.as<Date>()) return date->text;
  if (const auto* list = value.as<Array>()) {
    Json items = Json::array();
    for (const Value& item : *list) items.push_back(to_json(item));
    return items;
  }
  Json object = Json::object();
  for (const Member& member : *value.as<Table>()) {
    if (!member.value.secret) object[member.key] = to_json(member.value);
  }
  return object;
}

namespace {

Json place_of(const Diagnostic& diagnostic) {
  const Origin& origin = diagnostic.origin;
  if (origin.is_default()) return nullptr;
  const Source& source = *origin.source;
  switch (source.kind) {
    case Source::Kind::argument:
      if (diagnostic.hide_source) return {{"argument", source.name.substr(0, source.name.find('='))}};
      return {{"argument", source.name}, {"column", origin.column}};
    case Source::Kind::environment: return {{"environment", source.name}};
    case Source::Kind::file: break;
  }
  Json place{{"file", source.name}};
  if (origin.line == 0) return place;
  place["line"] = origin.line;
  place["column"] = origin.column;
  if (origin.length > 0) place["length"] = origin.length;
  return place;
}

std::string_view kind_name(TypeInfo::Kind kind) {
  switch (kind) {
    case TypeInfo::Kind::boolean: return "boolean";
    case TypeInfo::Kind::integer: return "integer";
    case TypeInfo::Kind::number: return "number";
    case TypeInfo::Kind::string: return "string";
    case TypeInfo::Kind::choice: return "choice";
    case TypeInfo::Kind::path: return "path";
    case TypeInfo::Kind::duration: return "duration";
    case TypeInfo::Kind::size: return "size";
    case TypeInfo::Kind::list: return "list";
    case TypeInfo::Kind::table: return "table";
    case TypeInfo::Kind::map: return "map";
    case TypeInfo::Kind::part: return "part";
    case TypeInfo::Kind::either: return "either";
  }
  return "";
}

Json type_json(const TypeInfo& type) {
  Json json{{"type", kind_name(type.kind)}};
  if (type.optional) json["optional"] = true;
  if (type.kind == TypeInfo::Kind::part) json["kind"] = type.part_kind;
  for (const TypeInfo& alternative : type.alternatives)
    json["alternatives"].push_back(type_json(alternative));
  if (type.element) json["element"] = type_json(*type.element);
  if (type.schema) json["parameters"] = to_json(type.schema());
  for (const ChoiceInfo& choice : type.choices) {
    json["choices"].push_back(choice.doc.empty() ? Json{{"name", choice.name}}
                                                 : Json{{"name", choice.name}, {"doc", choice.doc}});
  }
  return json;
}

Json field_json(const FieldInfo& field) {
  const Rules& rules = field.rules;
  Json json{{"name", field.name}, {"doc", field.doc}};
  json.update(type_json(field.type));
  if (rules.required) json["required"] = true;
  if (rules.secret) json["secret"] = true;
  if (rules.non_empty) json["non_empty"] = true;
  if (std::isfinite(rules.low) && !rules.low_is_general)
    json[rules.low_excluded ? "above" : "at_least"] = rules.low;
  if (std::isfinite(rules.high) && !rules.high_is_general)
    json[rules.high_excluded ? "below" : "at_most"] = rules.high;
  for (const std::string_view word : rules.words) {
    if (!word.empty()) json["one_of"].push_back(word);
  }
  for (const std::string_view unit : rules.units) {
    if (!unit.empty()) json["units"].push_back(unit);
  }
  if (!rules.renamed_from.empty()) json["renamed_from"] = rules.renamed_from;
  if (field.default_value && !rules.secret) json["default"] = to_json(*field.default_value);
  json["summary"] = summary_text(field);
  return json;
}

}  // namespace

Json to_json(const Diagnostics& diagnostics) {
  Json list = Json::array();
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    const bool is_error = diagnostic.severity == Diagnostic::Severity::error;
    list.push_back({{"severity", is_error ? "error" : "warning"},
                    {"place", place_of(diagnostic)},
                    {"message", diagnostic.message},
                    {"hints", diagnostic.hints},
                    {"see", diagnostic.see}});
  }
  return list;
}

Json to_json(const Schema& schema) {
  Json list = Json::array();
  for (const FieldInfo& field : schema.fields) list.push_back(field_json(field));
  return list;
}

Json to_json(const Descriptor& descriptor) {
  return {{"kind", descriptor.kind->name},
          {"name", descriptor.name},
          {"summary", descriptor.summary},
          {"parameters", to_json(descriptor.own_schema())},
          {"common_parameters", to_json(descriptor.kind->common())}};
}

std::string dumped(const Json& json) {
  return escaped_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace runner
