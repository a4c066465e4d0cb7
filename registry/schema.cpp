#include "registry/schema.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "registry/base/number_text.hpp"

namespace runner {

const Value* FieldInfo::default_part() const {
  if (type.kind != TypeInfo::Kind::part || !default_value) return nullptr;
  const auto* table = default_value->as<Table>();
  const Value* part = table ? table->find("name") : &*default_value;
  return part && part->as<std::string>() ? part : nullptr;
}

const TypeInfo* alternative_for(const Value& value, const TypeInfo& either) {
  using Kind = TypeInfo::Kind;
  const auto written_like = [&](const TypeInfo& type) {
    switch (type.kind) {
      case Kind::boolean: return value.as<bool>() != nullptr;
      case Kind::integer:
      case Kind::number: return value.as<std::int64_t>() || value.as<double>();
      case Kind::list: return value.as<Array>() != nullptr;
      case Kind::table:
      case Kind::map: return value.as<Table>() != nullptr;
      case Kind::part: return value.as<Table>() || value.as<std::string>();
      case Kind::either: return alternative_for(value, type) != nullptr;
      default: return value.as<std::string>() != nullptr;
    }
  };
  const auto found = std::ranges::find_if(either.alternatives, written_like);
  return found == either.alternatives.end() ? nullptr : &*found;
}

const FieldInfo* Schema::find(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, &FieldInfo::name);
  return found == fields.end() ? nullptr : &*found;
}

std::vector<std::string> Schema::names() const {
  std::vector<std::string> names;
  for (const FieldInfo& field : fields) names.emplace_back(field.name);
  return names;
}

namespace {

template <class Words>
std::string join_words(const Words& words, std::string_view quote, std::string_view separator) {
  std::string out;
  for (const auto& word : words) {
    if (word.empty()) continue;
    if (!out.empty()) out += separator;
    out.append(quote).append(word).append(quote);
  }
  return out;
}

std::string range_text(const Rules& rules) {
  const bool has_low = std::isfinite(rules.low) && !rules.low_is_general;
  const bool has_high = std::isfinite(rules.high) && !rules.high_is_general;
  if (has_low && has_high) {
    if (!rules.low_excluded && !rules.high_excluded)
      return plain_number_text(rules.low) + " to " + plain_number_text(rules.high);
    return (rules.low_excluded ? "above " : "at least ") + plain_number_text(rules.low) +
           (rules.high_excluded ? " and below " : " and at most ") + plain_number_text(rules.high);
  }
  if (has_low) return (rules.low_excluded ? "above " : "at least ") + plain_number_text(rules.low);
  if (has_high) return (rules.high_excluded ? "below " : "at most ") + plain_number_text(rules.high);
  return "";
}

}  // namespace

std::string type_text(const TypeInfo& type) {
  switch (type.kind) {
    case TypeInfo::Kind::boolean: return "boolean";
    case TypeInfo::Kind::integer: return "integer";
    case TypeInfo::Kind::number: return "number";
    case TypeInfo::Kind::string: return "string";
    case TypeInfo::Kind::path: return "path";
    case TypeInfo::Kind::duration: return "duration";
    case TypeInfo::Kind::size: return "size";
    case TypeInfo::Kind::table: return "table";
    case TypeInfo::Kind::list: return "list of " + type_text(*type.element);
    case TypeInfo::Kind::map: return "table of " + type_text(*type.element);
    case TypeInfo::Kind::part: return std::string(type.part_kind);
    case TypeInfo::Kind::either: {
      std::vector<std::string> texts;
      for (const TypeInfo& alternative : type.alternatives) texts.push_back(type_text(alternative));
      return join_words(texts, "", " or ");
    }
    case TypeInfo::Kind::choice: break;
  }
  std::vector<std::string_view> names;
  for (const ChoiceInfo& choice : type.choices) names.push_back(choice.name);
  return join_words(names, "\"", " or ");
}

std::string rule_text(const FieldInfo& field) {
  const Rules& rules = field.rules;
  std::vector<std::string> parts{range_text(rules), join_words(rules.words, "\"", " or ")};
  if (const std::string units = join_words(rules.units, "", " or "); !units.empty())
    parts.push_back("in " + units);
  if (rules.non_empty) parts.emplace_back("not empty");
  return join_words(parts, "", ", ");
}

Rules with_general_bounds(Rules rules, const TypeInfo& type) {
  const TypeInfo* leaf = &type;
  while (leaf->element || !leaf->alternatives.empty())
    leaf = leaf->element ? leaf->element.get() : &leaf->alternatives.front();
  const bool integer = leaf->kind == TypeInfo::Kind::integer;
  if (!integer && leaf->kind != TypeInfo::Kind::number) return rules;
  const double bound = integer ? general_integer_bound : general_number_bound;
  if (!std::isfinite(rules.low)) {
    rules.low = integer ? std::max(-bound, static_cast<double>(leaf->lowest)) : -bound;
    rules.low_is_general = true;
  }
  if (!std::isfinite(rules.high)) {
    const bool narrow = integer && leaf->highest < std::numeric_limits<std::int64_t>::max();
    rules.high = narrow ? static_cast<double>(leaf->highest) : bound;
    rules.high_is_general = true;
  }
  return rules;
}

std::string summary_text(const FieldInfo& field) {
  std::string state;
  if (field.required()) {
    state = "required";
  } else if (field.default_value) {
    state = "default " + to_toml(*field.default_value);
  } else if (field.type.optional) {
    state = "optional";
  }
  return join_words(std::vector<std::string>{type_text(field.type), rule_text(field), state}, "", ", ");
}

}  // namespace runner
