#include "registry/conform.hpp"

#include <algorithm>
#include <cmath>

#include "registry/codec.hpp"
#include "registry/quantity.hpp"
#include "registry/suggest.hpp"

namespace runner {

namespace {

constexpr std::size_t most_errors = 200;  // a file of garbage needs no more than these

// The table being looked at, in the words that a message uses for it.
struct Place {
  std::string label;  // optimizer "sgd", [train], the recipe
  std::string noun;   // parameter, key, section
  std::string path;   // optimizer, train, "" for the recipe itself
  std::string see;

  std::string key(std::string_view name) const { return path.empty() ? std::string(name) : path + "." + std::string(name); }
};

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

class Conformer {
 public:
  Conformer(const Registry& registry, Diagnostics& diagnostics) : registry_(registry), diagnostics_(diagnostics) {}

  Value table(const Value& value, const Schema& schema, const Place& place, int name_layer = -1) {
    const std::size_t errors_before = diagnostics_.errors();
    const Table& given = *value.as<Table>();
    report_unknown(given, schema, place, name_layer);
    Value result(Value::Data(Table{}), value.origin);
    for (const FieldInfo& field : schema.fields) {
      if (auto conformed = member(value, field, place)) {
        Origin key_origin = conformed->origin;
        if (const Member* written = given.member(field.name)) key_origin = written->key_origin;
        result.as<Table>()->append(std::string(field.name), std::move(*conformed), std::move(key_origin));
      }
    }
    if (schema.check && diagnostics_.errors() == errors_before) {
      Report report(diagnostics_, result, place.label, place.see);
      schema.check(result, registry_, report);
    }
    return result;
  }

 private:
  bool enough() const { return diagnostics_.errors() >= most_errors; }

  void report_unknown(const Table& given, const Schema& schema, const Place& place, int name_layer) {
    for (const Member& member : given) {
      if (enough()) return;
      const bool renamed = std::ranges::any_of(
          schema.fields, [&](const FieldInfo& field) { return field.rules.renamed_from == member.key; });
      if (schema.find(member.key) || renamed || (name_layer >= 0 && member.key == "name")) continue;
      // A later layer chose another part: what only the earlier part knew goes with it.
      if (member.key_origin.layer < name_layer) continue;
      Diagnostic diagnostic{Diagnostic::Severity::error, member.key_origin,
                            place.label + " has no " + place.noun + " " + in_quotes(member.key), {}, place.see};
      if (const auto meant = nearest(member.key, schema.names())) {
        const FieldInfo& field = *schema.find(*meant);
        diagnostic.hints.push_back("did you mean " + in_quotes(*meant) + "?  (" + summary_text(field) + ")");
        diagnostic.hide_source = field.rules.secret;
      } else if (!schema.fields.empty()) {
        diagnostic.hints.push_back("it has: " + listed(schema.names()));
      } else {
        diagnostic.hints.emplace_back("it takes none");
      }
      diagnostics_.add(std::move(diagnostic));
    }
  }

  // The value as written, under the field's present or its former name.
  const Value* written(const Table& given, const FieldInfo& field, const Place& place) {
    const Member* current = given.member(field.name);
    const Member* former = field.rules.renamed_from.empty() ? nullptr : given.member(field.rules.renamed_from);
    if (!former) return current ? &current->value : nullptr;
    if (current) {
      diagnostics_.error(former->key_origin, place.label + " has both " + in_quotes(former->key) + " and its new name " +
                                                 in_quotes(field.name),
                         {"delete " + in_quotes(former->key)}, place.see);
      return &current->value;
    }
    diagnostics_.warning(former->key_origin,
                         place.label + ": " + in_quotes(former->key) + " is now called " + in_quotes(field.name),
                         {"rename it; the old name will go away"}, place.see);
    return &former->value;
  }

  std::optional<Value> member(const Value& parent, const FieldInfo& field, const Place& place) {
    if (enough()) return std::nullopt;
    const Place inner{place.label, place.noun, place.key(field.name), place.see};
    if (const Value* value = written(*parent.as<Table>(), field, place)) {
      auto conformed = typed(*value, field.type, field, inner);
      if (conformed) conformed->secret = field.rules.secret;
      return conformed;
    }
    if (field.required()) {
      diagnostics_.error(parent.origin, place.label + " needs " + in_quotes(field.name),
                         {"(" + summary_text(field) + ")  " + std::string(field.doc)}, place.see);
      return std::nullopt;
    }
    if (!field.default_value) return std::nullopt;
    Value fallback = *field.default_value;
    const bool holds_more = field.type.kind == TypeInfo::Kind::table || field.type.kind == TypeInfo::Kind::part ||
                            field.type.kind == TypeInfo::Kind::list;
    if (!holds_more) return fallback;
    if (fallback.as<Table>()) fallback.origin = whole_source(parent.origin);
    return typed(fallback, field.type, field, inner);
  }

  // A table that nobody wrote: messages about it can name the file, but no line.
  static Origin whole_source(Origin origin) {
    origin.line = origin.column = origin.length = 0;
    return origin;
  }

  std::optional<Value> typed(const Value& value, const TypeInfo& type, const FieldInfo& field, const Place& place) {
    switch (type.kind) {
      case TypeInfo::Kind::boolean: return value.as<bool>() ? std::optional(value) : wrong_type(value, type, field, place);
      case TypeInfo::Kind::integer: return integer(value, type, field, place);
      case TypeInfo::Kind::number: return number(value, type, field, place);
      case TypeInfo::Kind::string:
      case TypeInfo::Kind::path: return text(value, type, field, place);
      case TypeInfo::Kind::choice: return choice(value, type, field, place);
      case TypeInfo::Kind::duration: return duration(value, type, field, place);
      case TypeInfo::Kind::size: return size(value, type, field, place);
      case TypeInfo::Kind::list: return list(value, type, field, place);
      case TypeInfo::Kind::map: return map(value, type, field, place);
      case TypeInfo::Kind::table: return section(value, type, field, place);
      case TypeInfo::Kind::part: return part(value, type, place);
    }
    return std::nullopt;
  }

  std::nullopt_t wrong(const Value& value, std::string message, const FieldInfo& field, const Place& place,
                       std::vector<std::string> hints = {}) {
    if (hints.empty()) hints.push_back("(" + summary_text(field) + ")  " + std::string(field.doc));
    diagnostics_.add({Diagnostic::Severity::error, value.origin, place.path + " " + std::move(message), std::move(hints),
                      place.see, field.rules.secret});
    return std::nullopt;
  }

  static std::string article(const TypeInfo& type) {
    const std::string text = type_text(type);
    if (type.kind == TypeInfo::Kind::choice) return text;
    return (std::string_view("aeiou").find(text.front()) != std::string_view::npos ? "an " : "a ") + text;
  }

  std::nullopt_t wrong_type(const Value& value, const TypeInfo& type, const FieldInfo& field, const Place& place) {
    std::string message = "must be " + article(type) + ", not " + std::string(type_name(value));
    const auto* text = value.as<std::string>();
    if (text && !field.rules.secret && text->size() < 60) message += " (" + in_quotes(*text) + ")";
    return wrong(value, std::move(message), field, place);
  }

  std::optional<Value> integer(const Value& value, const TypeInfo& type, const FieldInfo& field, const Place& place) {
    Value result = value;
    if (const auto* real = value.as<double>(); real && *real == std::floor(*real) && std::abs(*real) < 9e15) {
      result.data = static_cast<std::int64_t>(*real);  // 1e3 is a whole number to anyone who writes it
    }
    const auto* whole = result.as<std::int64_t>();
    if (!whole) return wrong_type(value, type, field, place);
    if (*whole < type.lowest || *whole > type.highest) {
      return wrong(value, "must be " + std::to_string(type.lowest) + " to " + std::to_string(type.highest), field, place);
    }
    if (!in_range(static_cast<double>(*whole), field.rules)) return out_of_range(value, field, place);
    return result;
  }

  std::optional<Value> number(const Value& value, const TypeInfo& type, const FieldInfo& field, const Place& place) {
    Value result = value;
    if (const auto* whole = value.as<std::int64_t>()) result.data = static_cast<double>(*whole);
    const auto* real = result.as<double>();
    if (!real) return wrong_type(value, type, field, place);
    if (!std::isfinite(*real)) return wrong(value, "must be a finite number", field, place);
    if (!in_range(*real, field.rules)) return out_of_range(value, field, place);
    return result;
  }

  static bool in_range(double number, const Rules& rules) {
    return (rules.low_excluded ? number > rules.low : number >= rules.low) &&
           (rules.high_excluded ? number < rules.high : number <= rules.high);
  }

  std::nullopt_t out_of_range(const Value& value, const FieldInfo& field, const Place& place) {
    return wrong(value, "must be " + rule_text(field) + ", not " + to_toml(value), field, place);
  }

  std::optional<Value> text(const Value& value, const TypeInfo& type, const FieldInfo& field, const Place& place) {
    Value result = value;
    if (!value.as<std::string>()) {
      if (value.typed.empty()) return wrong_type(value, type, field, place);
      result.data = value.typed;
    }
    const std::string& held = *result.as<std::string>();
    if (field.rules.non_empty && held.empty()) return wrong(value, "must not be empty", field, place);
    if (held.find('\0') != std::string::npos) return wrong(value, "must not contain a NUL character", field, place);
    std::vector<std::string> allowed;
    for (const std::string_view word : field.rules.words) {
      if (!word.empty()) allowed.emplace_back(word);
    }
    if (!allowed.empty() && std::ranges::find(allowed, held) == allowed.end()) {
      return not_among(value, held, allowed, field, place);
    }
    return result;
  }

  std::optional<Value> choice(const Value& value, const TypeInfo& type, const FieldInfo& field, const Place& place) {
    const auto* held = value.as<std::string>();
    if (!held) return wrong_type(value, type, field, place);
    std::vector<std::string> allowed;
    for (const ChoiceInfo& word : type.choices) allowed.emplace_back(word.name);
    if (std::ranges::find(allowed, *held) == allowed.end()) return not_among(value, *held, allowed, field, place);
    return value;
  }

  std::nullopt_t not_among(const Value& value, const std::string& held, const std::vector<std::string>& allowed,
                           const FieldInfo& field, const Place& place) {
    std::vector<std::string> hints;
    if (const auto meant = nearest(held, allowed)) hints.push_back("did you mean " + in_quotes(*meant) + "?");
    hints.push_back("allowed: " + listed(allowed));
    return wrong(value, "cannot be " + (field.rules.secret ? "this" : in_quotes(held)), field, place, std::move(hints));
  }

  std::optional<Value> duration(const Value& value, const TypeInfo& type, const FieldInfo& field, const Place& place) {
    const auto* held = value.as<std::string>();
    if (!held) {
      if (!value.as<std::int64_t>() && !value.as<double>()) return wrong_type(value, type, field, place);
      const std::string bare = to_toml(value);
      return wrong(value, "needs a unit", field, place,
                   {"write \"" + bare + "ep\", \"" + bare + "step\", \"" + bare + "min\" or another duration"});
    }
    const auto parsed = parse_duration(*held);
    if (const auto* problem = std::get_if<std::string>(&parsed)) return wrong(value, *problem, field, place);
    const auto& known = std::get<Duration>(parsed);
    if (!field.rules.units.front().empty() && !unit_allowed(known.unit, field.rules)) {
      return wrong(value, "must be " + rule_text(field) + ", not " + in_quotes(*held), field, place);
    }
    if (!in_range(known.amount, field.rules)) return out_of_range(value, field, place);
    Value result = value;
    result.data = to_string(known);
    return result;
  }

  static bool unit_allowed(Duration::Unit unit, const Rules& rules) {
    constexpr std::array names{std::string_view("ep"), std::string_view("step"), std::string_view("s"),
                               std::string_view("run")};
    return std::ranges::find(rules.units, names.at(static_cast<std::size_t>(unit))) != rules.units.end();
  }

  std::optional<Value> size(const Value& value, const TypeInfo& type, const FieldInfo& field, const Place& place) {
    const auto* held = value.as<std::string>();
    if (!held) return wrong_type(value, type, field, place);
    const auto parsed = parse_byte_size(*held);
    if (const auto* problem = std::get_if<std::string>(&parsed)) return wrong(value, *problem, field, place);
    if (!in_range(static_cast<double>(std::get<ByteSize>(parsed).bytes), field.rules)) {
      return out_of_range(value, field, place);
    }
    Value result = value;
    result.data = to_string(std::get<ByteSize>(parsed));
    return result;
  }

  std::optional<Value> list(const Value& value, const TypeInfo& type, const FieldInfo& field, const Place& place) {
    const auto* items = value.as<Array>();
    if (!items) {
      if (type.element->kind == TypeInfo::Kind::part && (value.as<Table>() || value.as<std::string>())) {
        return wrong(value, "is a list, not one " + std::string(type.element->part_kind), field, place,
                     {"write [[" + place.path + "]] for each one"});
      }
      return wrong_type(value, type, field, place);
    }
    if (field.rules.non_empty && items->empty()) return wrong(value, "must not be empty", field, place);
    Value result(Value::Data(Array{}), value.origin);
    bool whole = true;
    for (std::size_t i = 0; i < items->size() && !enough(); ++i) {
      const Place inner{place.label, place.noun, place.key(std::to_string(i)), place.see};
      auto conformed = typed((*items)[i], *type.element, field, inner);
      whole = whole && conformed;
      if (conformed) result.as<Array>()->push_back(std::move(*conformed));
    }
    return whole ? std::optional(std::move(result)) : std::nullopt;
  }

  std::optional<Value> map(const Value& value, const TypeInfo& type, const FieldInfo& field, const Place& place) {
    const auto* table = value.as<Table>();
    if (!table) return wrong_type(value, type, field, place);
    if (field.rules.non_empty && table->empty()) return wrong(value, "must not be empty", field, place);
    Value result(Value::Data(Table{}), value.origin);
    bool whole = true;
    for (const Member& member : *table) {
      if (enough()) break;
      const Place inner{place.label, place.noun, place.key(member.key), place.see};
      auto conformed = typed(member.value, *type.element, field, inner);
      whole = whole && conformed;
      if (conformed) result.as<Table>()->append(member.key, std::move(*conformed), member.key_origin);
    }
    return whole ? std::optional(std::move(result)) : std::nullopt;
  }

  std::optional<Value> section(const Value& value, const TypeInfo& type, const FieldInfo& field, const Place& place) {
    if (!value.as<Table>()) return wrong_type(value, type, field, place);
    const bool top_level = place.path.find('.') == std::string::npos;
    const Place inner{"[" + place.path + "]", "key", place.path,
                      top_level ? "runner describe section " + place.path : place.see};
    return table(value, type.schema(), inner);
  }

  std::optional<Value> part(const Value& value, const TypeInfo& type, const Place& place) {
    const std::string kind(type.part_kind);
    const std::vector<std::string> names = registry_.names(kind);
    const std::string see = "runner list " + kind;
    if (!value.as<Table>() && !value.as<std::string>()) {
      diagnostics_.error(value.origin, place.path + " must name a " + kind + ", not be " + std::string(type_name(value)),
                         {"one of: " + listed(names)}, see);
      return std::nullopt;
    }
    // A bare name stands for a table that holds just the name.
    const Value* name = value.as<Table>() ? value.as<Table>()->find("name") : &value;
    const auto* text = name ? name->as<std::string>() : nullptr;
    if (!text) {
      diagnostics_.error(name ? name->origin : value.origin,
                         place.path + (name ? ".name must be a string" : " needs a name"),
                         {"one of: " + listed(names)}, see);
      return std::nullopt;
    }
    const Descriptor* descriptor = registry_.find(kind, *text);
    if (!descriptor) {
      std::vector<std::string> hints;
      if (const auto meant = nearest(*text, names)) hints.push_back("did you mean " + in_quotes(*meant) + "?");
      hints.push_back("there is: " + listed(names));
      diagnostics_.error(name->origin, "unknown " + kind + " " + in_quotes(*text), std::move(hints), see);
      return std::nullopt;
    }
    return component(value, *name, *descriptor, place);
  }

  Value component(const Value& value, const Value& name, const Descriptor& descriptor, const Place& place) {
    const std::string kind(descriptor.kind->name), named(descriptor.name);
    const Place inner{kind + " " + in_quotes(named), "parameter", place.path, "runner describe " + kind + " " + named};
    const Value empty(Value::Data(Table{}), value.origin);
    const Value& given = value.as<Table>() ? value : empty;
    Schema schema = descriptor.schema();
    Value result = table(given, schema, inner, std::max(0, name.origin.layer));
    Value with_name(Value::Data(Table{}), value.origin);
    Value plain_name = name;
    plain_name.typed.clear();
    const Member* written_name = given.as<Table>()->member("name");
    with_name.as<Table>()->append("name", std::move(plain_name), written_name ? written_name->key_origin : name.origin);
    for (Member& member : *result.as<Table>()) {
      with_name.as<Table>()->append(std::move(member.key), std::move(member.value), std::move(member.key_origin));
    }
    return with_name;
  }

  const Registry& registry_;
  Diagnostics& diagnostics_;
};

}  // namespace

Value conform(const Value& tree, const Schema& schema, const Registry& registry, Diagnostics& diagnostics) {
  return Conformer(registry, diagnostics).table(tree, schema, {"a recipe", "section", "", "runner describe section"});
}

}  // namespace runner
