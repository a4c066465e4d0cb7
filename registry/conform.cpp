#include "registry/conform.hpp"

#include <algorithm>
#include <optional>

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "registry/conform_leaf.hpp"
#include "registry/field_report.hpp"
#include "registry/merged_word.hpp"
#include "registry/secrets.hpp"
#include "registry/unknown_key.hpp"

namespace runner {

namespace {

constexpr std::size_t most_errors = 200;  // enough for a file of garbage

// The table being checked, as messages refer to it.
struct Place {
  std::string label;  // optimizer "sgd", [train], a recipe
  std::string noun;   // parameter, key, section
  std::string path;   // optimizer, train, "" for the recipe itself
  std::string see;

  std::string key(std::string_view name) const { return key_below(path, name); }
};

// For a table that is not written in the recipe: messages about it can name the file, but no line.
Origin whole_source(Origin origin) {
  origin.line = origin.column = origin.length = 0;
  return origin;
}

class Conformer {
 public:
  Conformer(const Registry& registry, Diagnostics& diagnostics, Blanks blanks)
      : registry_(registry), diagnostics_(diagnostics), blanks_(blanks) {}

  Value table(const Value& value, const Schema& schema, const Place& place) {
    const std::size_t gaps_before = gaps();
    report_unknown(*value.as<Table>(), schema, place, std::nullopt);
    Value result = known_fields(value, schema, place, std::nullopt);
    run_check(schema, result, place, gaps_before);
    return result;
  }

 private:
  bool enough() const { return diagnostics_.errors() >= most_errors; }

  // Errors and blanks so far: a table that has any cannot be decoded.
  std::size_t gaps() const { return diagnostics_.errors() + blanks_left_; }

  Value left_blank(const Origin& origin) {
    ++blanks_left_;
    return Value(Value::Data(std::string(blank)), origin);
  }

  void run_check(const Schema& schema, const Value& result, const Place& place, std::size_t gaps_before) {
    if (!schema.check || gaps() > gaps_before) return;
    // At the top level of the recipe, the path says which key is meant.
    Report report(diagnostics_, result, place.path.empty() ? "" : place.label, place.see);
    schema.check(result, registry_, report);
  }

  // `name_layer`: for a part, the layer that chose its component. Earlier settings that only a component
  // chosen before knows are dropped together with it.
  void report_unknown(const Table& given, const Schema& schema, const Place& place,
                      std::optional<int> name_layer) {
    for (const Member& member : given) {
      if (enough()) return;
      const bool renamed = std::ranges::any_of(
          schema.fields, [&](const FieldInfo& field) { return field.rules.renamed_from == member.key; });
      if (schema.find(member.key) || renamed) continue;
      if (name_layer && (member.key == "name" || member.key_origin.layer < *name_layer)) continue;
      diagnostics_.error(member.key_origin,
                         place.label + " has no " + place.noun + " " + in_quotes(member.key),
                         {unknown_key_hint(member, given, schema, registry_, place.path)}, place.see);
    }
  }

  // Whether a setting for an earlier component also applies to the one chosen later.
  bool suits(const Member& written, const FieldInfo& field, const Place& place) const {
    Diagnostics trial;
    const FieldReport report{field, place.key(field.name), place.see, trial};
    Conformer(registry_, trial, blanks_).any(written.value, field.type, report);
    return trial.ok();
  }

  Value known_fields(const Value& given, const Schema& schema, const Place& place,
                     std::optional<int> name_layer) {
    Value result(Value::Data(Table{}), given.origin);
    for (const FieldInfo& field : schema.fields) {
      if (enough()) break;
      const Member* written = written_member(*given.as<Table>(), field, place);
      if (written && name_layer && written->key_origin.layer < *name_layer &&
          !suits(*written, field, place)) {
        written = nullptr;
      }
      std::optional<Value> conformed =
          written ? any(written->value, field.type, report_for(field, place)) : fallback(given, field, place);
      if (!conformed) continue;
      conformed->secret = field.rules.secret;
      Origin key_origin = written ? written->key_origin : conformed->origin;
      result.as<Table>()->append(std::string(field.name), std::move(*conformed), std::move(key_origin));
    }
    return result;
  }

  FieldReport report_for(const FieldInfo& field, const Place& place) {
    return {field, place.key(field.name), place.see, diagnostics_};
  }

  // The setting under the field's current or former name; if both are set, the one from the later layer.
  const Member* written_member(const Table& given, const FieldInfo& field, const Place& place) {
    const Member* current = given.member(field.name);
    const Member* former =
        field.rules.renamed_from.empty() ? nullptr : given.member(field.rules.renamed_from);
    if (!former) return current;
    if (current && current->key_origin.layer == former->key_origin.layer) {
      diagnostics_.error(
          former->key_origin,
          place.label + " has both " + in_quotes(former->key) + " and its new name " + in_quotes(field.name),
          {"delete " + in_quotes(former->key)}, place.see);
      return current;
    }
    diagnostics_.warning(
        former->key_origin,
        place.label + ": " + in_quotes(former->key) + " is now called " + in_quotes(field.name),
        {"rename it; the old name will go away"}, place.see);
    return current && current->key_origin.layer > former->key_origin.layer ? current : former;
  }

  // The value of a field that is not in the recipe.
  std::optional<Value> fallback(const Value& parent, const FieldInfo& field, const Place& place) {
    if (field.required()) {
      if (blanks_ == Blanks::allowed) return left_blank({});
      diagnostics_.error(parent.origin, place.label + " needs " + in_quotes(field.name),
                         {"(" + summary_text(field) + ")  " + std::string(field.doc)}, place.see);
      return std::nullopt;
    }
    if (!field.default_value) return std::nullopt;
    Value value = *field.default_value;
    if (value.as<Table>()) value.origin = whole_source(parent.origin);
    return any(value, field.type, report_for(field, place));
  }

  std::optional<Value> any(const Value& value, const TypeInfo& type, const FieldReport& report) {
    if (is_blank(value)) {
      if (blanks_ == Blanks::allowed) return left_blank(value.origin);
      return report.wrong(value, "is still to be filled in");
    }
    switch (type.kind) {
      case TypeInfo::Kind::list: return list(value, type, report);
      case TypeInfo::Kind::map: return map(value, type, report);
      case TypeInfo::Kind::table: return section(value, type, report);
      case TypeInfo::Kind::part: return part(value, type, report);
      case TypeInfo::Kind::either: {
        const Value given = last_alternative(value, type);
        const TypeInfo* alternative = alternative_for(given, type);
        return alternative ? any(given, *alternative, report) : report.wrong_type(given, type);
      }
      default: return conform_leaf(value, type, report);
    }
  }

  std::optional<Value> list(const Value& value, const TypeInfo& type, const FieldReport& report) {
    const auto* items = value.as<Array>();
    if (!items) {
      const bool one_part =
          type.element->kind == TypeInfo::Kind::part && (value.as<Table>() || value.as<std::string>());
      if (!one_part) return report.wrong_type(value, type);
      const bool in_file = !value.origin.source || value.origin.source->kind == Source::Kind::file;
      return report.wrong(
          value, "is a list, not one " + std::string(type.element->part_kind),
          {in_file ? "write [[" + report.path + "]] for each one"
                   : "write " + report.path + "=[..], or " + report.path + "+=.. to add one"});
    }
    if (report.field.rules.non_empty && items->empty()) return report.wrong(value, "must not be empty");
    Value result(Value::Data(Array{}), value.origin);
    for (std::size_t i = 0; i < items->size() && !enough(); ++i) {
      auto conformed = any((*items)[i], *type.element, report.at(std::to_string(i)));
      if (conformed) result.as<Array>()->push_back(std::move(*conformed));
    }
    return result.as<Array>()->size() == items->size() ? std::optional(std::move(result)) : std::nullopt;
  }

  std::optional<Value> map(const Value& value, const TypeInfo& type, const FieldReport& report) {
    const auto* members = value.as<Table>();
    if (!members) return report.wrong_type(value, type);
    if (const Member* word = merged_word(value); word && members->size() > 1)
      return report.wrong_type(word->value, type);
    if (report.field.rules.non_empty && members->empty()) return report.wrong(value, "must not be empty");
    Value result(Value::Data(Table{}), value.origin);
    for (const Member& member : *members) {
      if (enough()) break;
      auto conformed = any(member.value, *type.element, report.at(key_to_toml(member.key)));
      if (conformed) result.as<Table>()->append(member.key, std::move(*conformed), member.key_origin);
    }
    return result.as<Table>()->size() == members->size() ? std::optional(std::move(result)) : std::nullopt;
  }

  std::optional<Value> section(const Value& value, const TypeInfo& type, const FieldReport& report) {
    if (!value.as<Table>()) return report.wrong_type(value, type);
    if (const Member* word = merged_word(value); word && !type.schema().find("name"))
      return report.wrong_type(word->value, type);
    const bool top_level = report.path.find('.') == std::string::npos;
    return table(value, type.schema(),
                 {"[" + report.path + "]", "key", report.path,
                  top_level ? "runner describe section " + report.path : report.see});
  }

  // How to write hook+=["ema", "swa"]; empty if the value is something else.
  static std::string one_by_one(const Value& value) {
    const auto* items = value.as<Array>();
    const Source* source = value.origin.source.get();
    const bool appended = source && source->kind == Source::Kind::argument && source->name.ends_with('+');
    if (!items || items->empty() || !appended) return "";
    std::string hint = "+= adds one entry:";
    for (const Value& item : *items) {
      const auto* text = item.from_environment ? nullptr : item.as<std::string>();
      hint += " " + source->name + "=" + (text ? escaped_name(*text) : "..");
    }
    return hint;
  }

  std::optional<Value> part(const Value& value, const TypeInfo& type, const FieldReport& report) {
    const std::string& path = report.path;
    const std::string kind(type.part_kind);
    const std::vector<std::string> names = registry_.names(kind);
    const std::string see = "runner list " + kind;
    const auto fail = [&](const Origin& origin, std::string message, std::vector<std::string> hints) {
      diagnostics_.error(origin, std::move(message), std::move(hints), see);
      return std::nullopt;
    };
    // A bare name is short for a table with only this name.
    const auto* given = value.as<Table>();
    const Value* name = given ? given->find("name") : &value;
    if (!name) name = report.field.default_part();
    if (!name) return fail(value.origin, path + " needs a name", {"one of: " + listed(names)});
    const auto* text = name->as<std::string>();
    if (!text) {
      std::vector<std::string> hints{"one of: " + listed(names)};
      if (auto hint = one_by_one(*name); !hint.empty()) hints.insert(hints.begin(), std::move(hint));
      return fail(name->origin,
                  path + (given ? ".name" : "") + " must name " + with_article(kind) + ", not be " +
                      std::string(type_name(*name)),
                  std::move(hints));
    }
    if (is_blank(*name)) {
      if (blanks_ == Blanks::allowed) return left_blank(value.origin);
      return fail(name->origin, path + ".name is still to be filled in", {"one of: " + listed(names)});
    }
    if (const Descriptor* descriptor = registry_.find(kind, *text))
      return component(value, *name, *descriptor, path);
    std::vector<std::string> hints;
    if (const auto hint = did_you_mean(*text, names)) hints.push_back(*hint);
    const Descriptor* reader = registry_.find(kind, "file");
    if (reader && reader->own_schema().find("path") && text->find_first_of("/.") != std::string::npos)
      hints.push_back("a file is written { name = \"file\", path = " + quote_toml(*text) + " }");
    hints.push_back(names.empty() ? "this program has none" : "available: " + listed(names));
    return fail(name->origin, "unknown " + kind + " " + in_quotes(*text), std::move(hints));
  }

  Value component(const Value& value, const Value& name, const Descriptor& descriptor,
                  const std::string& path) {
    const std::size_t gaps_before = gaps();
    const std::string kind(descriptor.kind->name), own_name(descriptor.name);
    const Place place{kind + " " + in_quotes(own_name), "parameter", path,
                      "runner describe " + kind + " " + own_name};
    const Value nothing(Value::Data(Table{}), value.origin);
    const Value& given = value.as<Table>() ? value : nothing;
    const Member* written_name = given.as<Table>()->member("name");
    const Schema schema = descriptor.schema();
    report_unknown(*given.as<Table>(), schema, place, name.origin.layer);

    Value result(Value::Data(Table{}), value.origin);
    result.as<Table>()->append("name", Value(Value::Data(pinned_name(descriptor)), name.origin),
                               written_name ? written_name->key_origin : name.origin);
    Value parameters = known_fields(given, schema, place, name.origin.layer);
    for (Member& member : *parameters.as<Table>()) {
      result.as<Table>()->append(std::move(member.key), std::move(member.value),
                                 std::move(member.key_origin));
    }
    run_check(schema, result, place, gaps_before);
    run_check(descriptor.kind->common(), result, place, gaps_before);
    return result;
  }

  const Registry& registry_;
  Diagnostics& diagnostics_;
  Blanks blanks_;
  std::size_t blanks_left_ = 0;
};

}  // namespace

bool is_blank(const Value& value) {
  const auto* text = value.as<std::string>();
  return text && *text == blank;
}

Value conform(const Value& tree, const Schema& schema, const Registry& registry, Diagnostics& diagnostics,
              Blanks blanks) {
  const Place recipe{"a recipe", "section", "", "runner describe section"};
  const Value nothing(Value::Data(Table{}), tree.origin);
  Value result =
      Conformer(registry, diagnostics, blanks).table(tree.as<Table>() ? tree : nothing, schema, recipe);
  hide_secrets(tree, secret_names(schema, registry), diagnostics);
  hide_variables(tree, diagnostics);
  follow_secrets(result);
  return result;
}

}  // namespace runner
