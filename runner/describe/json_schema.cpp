#include "runner/describe/json_schema.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "registry/base/wording.hpp"
#include "runner/describe/json.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

// A recipe that extends another may omit what that one sets, even the names of components.
enum class Strictness { complete, extending };

constexpr const char* amount = R"([0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?)";

bool contains(const std::array<std::string_view, Rules::most_words>& words, std::string_view word) {
  return words.front().empty() || std::ranges::find(words, word) != words.end();
}

std::string duration_pattern(const Rules& rules) {
  std::vector<std::string> forms;
  if (contains(rules.units, "ep")) forms.push_back(std::string(amount) + " *ep");
  if (contains(rules.units, "step")) forms.push_back(R"([0-9]+(\.0*)?([eE]\+?[0-9]+)? *step)");
  if (contains(rules.units, "s")) forms.push_back(std::string(amount) + " *(s|min|h|d)");
  if (contains(rules.units, "run")) forms.push_back(R"((0(\.[0-9]*)?|1(\.0*)?) *run)");
  // Above 0: some digit before the unit or the exponent is not 0.
  std::string pattern = rules.low_excluded && rules.low == 0 ? "^(?=[^eE]*[1-9]) *(" : "^ *(";
  for (std::size_t i = 0; i < forms.size(); ++i) pattern += (i > 0 ? "|" : "") + forms[i];
  pattern += ") *$";
  return rules.or_never ? "(" + pattern + ")|^never$" : pattern;
}

void add_range(Json& json, const Rules& rules, double lowest, double highest) {
  if (std::isfinite(rules.low) && rules.low >= lowest) {
    json[rules.low_excluded ? "exclusiveMinimum" : "minimum"] = rules.low;
  } else if (std::isfinite(lowest)) {
    json["minimum"] = lowest;
  }
  if (std::isfinite(rules.high) && rules.high <= highest) {
    json[rules.high_excluded ? "exclusiveMaximum" : "maximum"] = rules.high;
  } else if (std::isfinite(highest)) {
    json["maximum"] = highest;
  }
}

class Writer {
 public:
  explicit Writer(const Registry& registry) : registry_(registry) {}

  Json write(const Schema& recipe) {
    definitions_["reference"] = {
        {"type", "string"},
        {"pattern", R"(\$\{[^}]+\})"},
        {"description", "Another key's value, ${section.key}, or a variable's, ${env:NAME}."}};
    Json complete = table(recipe, Strictness::complete);
    Json extending = table(recipe, Strictness::extending);
    for (Json* variant : {&complete, &extending}) (*variant)["properties"]["extends"] = true;
    definitions_["recipe"] = std::move(complete);
    definitions_["recipe that extends another"] = std::move(extending);
    Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                {"title", "Recipe of runner " RUNNER_VERSION},
                {"type", "object"}};
    schema["properties"]["extends"] = {
        {"description",
         "The recipe, or the recipes, that this one changes; paths are relative to this file."},
        {"anyOf",
         {{{"type", "string"}, {"minLength", 1}},
          {{"type", "array"}, {"items", {{"type", "string"}, {"minLength", 1}}}}}}};
    // Here as well, so that editors that do not look into conditions still know every section.
    for (const FieldInfo& field : recipe.fields)
      schema["properties"][std::string(field.name)] = {{"description", field.doc}};
    schema["if"] = {{"required", {"extends"}}};
    schema["then"] = reference_to("recipe that extends another");
    schema["else"] = reference_to("recipe");
    schema["$defs"] = std::move(definitions_);
    return schema;
  }

 private:
  static Json reference_to(const std::string& definition) {
    std::string pointer;
    for (const char c : definition) pointer += c == ' ' ? "%20" : c == '/' ? "~1" : std::string(1, c);
    return {{"$ref", "#/$defs/" + pointer}};
  }

  // "${..}" may stand for any value; it is filled in before anything is checked.
  static Json or_reference(Json json) {
    return {{"anyOf", Json::array({std::move(json), reference_to("reference")})}};
  }

  Json table(const Schema& schema, Strictness strictness) {
    Json json{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
    Json required = Json::array();
    for (const FieldInfo& field : schema.fields) {
      const std::string name(field.name);
      json["properties"][name] = property(field, strictness);
      if (field.required()) required.push_back(name);
      if (!field.rules.renamed_from.empty()) {
        Json former = json["properties"][name];
        former["deprecated"] = true;
        former["description"] = "Now called " + in_quotes(name) + ".";
        json["properties"][std::string(field.rules.renamed_from)] = std::move(former);
      }
    }
    if (strictness == Strictness::complete && !required.empty()) json["required"] = std::move(required);
    return json;
  }

  Json property(const FieldInfo& field, Strictness strictness) {
    Json json{{"title", field.name},
              {"description", std::string(field.doc) + "\n(" + summary_text(field) + ")"}};
    if (field.default_value && !field.rules.secret) json["default"] = to_json(*field.default_value);
    json.update(typed(field.type, field.rules, strictness));
    // A table without a name configures the default component.
    if (const Value* name = field.default_part()) {
      const Descriptor* part = registry_.find(std::string(field.type.part_kind), *name->as<std::string>());
      json["anyOf"] = Json::array({typed(field.type, field.rules, strictness), component(*part, strictness)});
      json.erase("$ref");
    }
    return json;
  }

  Json typed(const TypeInfo& type, const Rules& rules, Strictness strictness) {
    switch (type.kind) {
      case TypeInfo::Kind::boolean: return or_reference({{"type", "boolean"}});
      case TypeInfo::Kind::integer: return or_reference(integer(type, rules));
      case TypeInfo::Kind::number: return or_reference(number(rules));
      case TypeInfo::Kind::string: return text(rules);
      case TypeInfo::Kind::path: {
        Json json = text(rules);
        if (type.optional && !rules.in_run_folder) json["minLength"] = 1;
        return json;
      }
      case TypeInfo::Kind::choice: return or_reference(choice(type));
      case TypeInfo::Kind::duration:
        return or_reference({{"type", "string"}, {"pattern", duration_pattern(rules)}});
      case TypeInfo::Kind::size:
        return or_reference(
            {{"type", "string"}, {"pattern", "^ *" + std::string(amount) + " *([kMGT]?B|[KMGT]iB) *$"}});
      case TypeInfo::Kind::list: return or_reference(list(type, rules));
      case TypeInfo::Kind::map: return or_reference(map(type, rules));
      case TypeInfo::Kind::table: return or_reference(table(type.schema(), strictness));
      case TypeInfo::Kind::part: return part(std::string(type.part_kind), strictness);
      case TypeInfo::Kind::either: {
        Json any = Json::array();
        for (const TypeInfo& alternative : type.alternatives)
          any.push_back(typed(alternative, rules, strictness));
        return {{"anyOf", std::move(any)}};
      }
    }
    return true;
  }

  static Json integer(const TypeInfo& type, const Rules& rules) {
    Json json{{"type", "integer"}};
    const bool is_widest = type.highest == std::numeric_limits<std::int64_t>::max();
    constexpr double unbounded = std::numeric_limits<double>::infinity();
    add_range(json, rules, is_widest && type.lowest != 0 ? -unbounded : static_cast<double>(type.lowest),
              is_widest ? unbounded : static_cast<double>(type.highest));
    return json;
  }

  static Json number(const Rules& rules) {
    Json json{{"type", "number"}};
    constexpr double unbounded = std::numeric_limits<double>::infinity();
    add_range(json, rules, -unbounded, unbounded);
    return json;
  }

  static Json text(const Rules& rules) {
    Json json{{"type", "string"}};
    if (rules.non_empty) json["minLength"] = 1;
    if (rules.words.front().empty()) return json;
    for (const std::string_view word : rules.words) {
      if (!word.empty()) json["enum"].push_back(word);
    }
    return or_reference(std::move(json));
  }

  static Json choice(const TypeInfo& type) {
    Json words = Json::array(), docs = Json::array();
    for (const ChoiceInfo& word : type.choices) {
      words.push_back(word.name);
      docs.push_back(word.doc);
    }
    return {{"enum", std::move(words)}, {"markdownEnumDescriptions", std::move(docs)}};
  }

  // A list replaces the one it inherits, so its elements are always whole.
  Json list(const TypeInfo& type, const Rules& rules) {
    Json json{{"type", "array"}, {"items", typed(*type.element, rules, Strictness::complete)}};
    if (rules.non_empty) json["minItems"] = 1;
    return json;
  }

  Json map(const TypeInfo& type, const Rules& rules) {
    Json json{{"type", "object"},
              {"additionalProperties", typed(*type.element, rules, Strictness::complete)}};
    if (rules.non_empty) json["minProperties"] = 1;
    return json;
  }

  Json part(const std::string& kind, Strictness strictness) {
    const std::string name = kind + (strictness == Strictness::complete ? "" : " that extends another");
    if (!definitions_.contains(name)) {
      definitions_[name] = true;  // a part may hold parts of its own kind
      definitions_[name] = part_definition(kind, strictness);
    }
    return reference_to(name);
  }

  Json part_definition(const std::string& kind, Strictness strictness) {
    Json names = Json::array(), docs = Json::array(), conditions = Json::array(), any = Json::array();
    for (const Descriptor* descriptor : registry_.of_kind(kind)) {
      const Json own = component(*descriptor, strictness);
      for (const std::string& spelling : registry_.spellings(*descriptor)) {
        names.push_back(spelling);
        docs.push_back(descriptor->summary);
      }
      any.push_back(own);
      conditions.push_back(
          {{"if", {{"properties", {{"name", name_of(*descriptor)}}}, {"required", {"name"}}}},
           {"then", own}});
    }
    // The name may be in the recipe that is extended; the settings have to suit at least one component.
    if (strictness == Strictness::extending) {
      conditions.push_back({{"if", {{"not", {{"required", {"name"}}}}}}, {"then", {{"anyOf", any}}}});
    }
    const Json any_name{{"enum", names}, {"markdownEnumDescriptions", docs}};
    Json object{
        {"type", "object"},
        {"properties",
         {{"name",
           {{"description", "Which " + kind + "."}, {"anyOf", {any_name, reference_to("reference")}}}}}}};
    if (strictness == Strictness::complete) object["required"] = {"name"};
    object["allOf"] = std::move(conditions);
    return {{"anyOf", Json::array({std::move(object), any_name, reference_to("reference")})}};
  }

  Json name_of(const Descriptor& descriptor) const {
    const std::vector<std::string> spellings = registry_.spellings(descriptor);
    return spellings.size() == 1 ? Json{{"const", spellings.front()}} : Json{{"enum", spellings}};
  }

  Json component(const Descriptor& descriptor, Strictness strictness) {
    const std::string name = std::string(descriptor.kind->name) + "/" + std::string(descriptor.name) +
                             (strictness == Strictness::complete ? "" : " that extends another");
    if (definitions_.contains(name)) return reference_to(name);
    definitions_[name] = true;
    Json json{{"title", std::string(descriptor.kind->name) + " " + std::string(descriptor.name)},
              {"description", descriptor.summary}};
    json.update(table(descriptor.schema(), strictness));
    json["properties"]["name"] = name_of(descriptor);
    json["properties"]["name"]["description"] = descriptor.summary;
    definitions_[name] = std::move(json);
    return reference_to(name);
  }

  const Registry& registry_;
  Json definitions_ = Json::object();
};

}  // namespace

Json json_schema(const Schema& recipe, const Registry& registry) { return Writer(registry).write(recipe); }

}  // namespace runner
