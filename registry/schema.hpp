#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "registry/rules.hpp"
#include "registry/value.hpp"

namespace runner {

class Registry;
class Report;
struct Schema;

struct ChoiceInfo {
  std::string_view name;
  std::string_view doc;
};

// The type of a field at run time.
struct TypeInfo {
  enum class Kind {
    boolean,
    integer,
    number,
    string,
    choice,
    path,
    duration,
    size,
    list,
    table,
    map,
    part,
    either
  };

  Kind kind = Kind::string;
  bool optional = false;                         // may stay unset
  std::int64_t lowest = 0, highest = 0;          // integer: the range of the C++ type
  std::vector<ChoiceInfo> choices = {};          // choice
  std::shared_ptr<const TypeInfo> element = {};  // list, map
  const Schema& (*schema)() = nullptr;           // table
  std::string_view part_kind = {};               // part: which kind of component
  std::vector<TypeInfo> alternatives = {};       // either: the possible types; their TOML types differ
};

struct FieldInfo {
  std::string_view name;
  std::string_view doc;
  TypeInfo type;
  Rules rules;
  std::optional<Value> default_value;  // none: required, or optional and unset

  bool required() const { return rules.required; }
  const Value* default_part() const;  // part: the name of the default component, if any
};

// The alternative with the TOML type of the value; nullptr: none.
const TypeInfo* alternative_for(const Value& value, const TypeInfo& either);

// What a table may hold: the parameters of a component, or a section of the recipe. Everything that is not
// typed C++ (validation, documentation, JSON Schema, completion, suggestions) is written against this.
struct Schema {
  std::vector<FieldInfo> fields;
  // Rules across fields, run only on a table whose fields are all valid.
  void (*check)(const Value& table, const Registry& registry, Report& report) = nullptr;

  const FieldInfo* find(std::string_view name) const;
  std::vector<std::string> names() const;
};

// Descriptions of one line, such as "number, above 0, default 0.1".
std::string type_text(const TypeInfo& type);
std::string rule_text(const FieldInfo& field);

// Adds the general bounds of numbers if the field has no bounds of its own.
Rules with_general_bounds(Rules rules, const TypeInfo& type);
std::string summary_text(const FieldInfo& field);

}  // namespace runner
