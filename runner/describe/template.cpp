#include "runner/describe/template.hpp"

#include <cmath>

#include "registry/base/wording.hpp"
#include "registry/conform.hpp"
#include "runner/toml/reference.hpp"

namespace runner {

namespace {

// Escapes text that looks like a reference but is not, so that it reads back unchanged.
Value escaped(const Value& value) {
  Value copy = value;
  if (auto* text = copy.as<std::string>()) *text = escape_references(*text);
  if (auto* list = copy.as<Array>()) {
    for (Value& item : *list) item = escaped(item);
  }
  if (auto* table = copy.as<Table>()) {
    for (Member& member : *table) member.value = escaped(member.value);
  }
  return copy;
}

bool holds_tables(const TypeInfo& type) {
  const TypeInfo& inner = type.kind == TypeInfo::Kind::list ? *type.element : type;
  return inner.kind == TypeInfo::Kind::table || inner.kind == TypeInfo::Kind::part;
}

// Some number that the rules allow, as a placeholder for the one that the user has to choose.
double example_number(const Rules& rules) {
  const auto allowed = [&](double number) {
    return (rules.low_excluded ? number > rules.low : number >= rules.low) &&
           (rules.high_excluded ? number < rules.high : number <= rules.high);
  };
  for (const double number : {1.0, rules.low, rules.high, rules.low + 1, (rules.low + rules.high) / 2}) {
    if (std::isfinite(number) && allowed(number)) return number;
  }
  return 1.0;
}

std::string example(const TypeInfo& type, const Rules& rules) {
  switch (type.kind) {
    case TypeInfo::Kind::boolean: return "true";
    case TypeInfo::Kind::integer:
      return to_toml(Value(static_cast<std::int64_t>(std::ceil(example_number(rules)))));
    case TypeInfo::Kind::number: return to_toml(Value(example_number(rules)));
    case TypeInfo::Kind::choice: return quote_toml(type.choices.front().name);
    case TypeInfo::Kind::duration: return rules.units.front() == "s" ? "\"30min\"" : "\"1ep\"";
    case TypeInfo::Kind::size: return "\"25MB\"";
    case TypeInfo::Kind::list: return "[" + example(*type.element, rules) + "]";
    case TypeInfo::Kind::map: return "{ key = " + example(*type.element, rules) + " }";
    case TypeInfo::Kind::either: return example(type.alternatives.front(), rules);
    default: return rules.words.front().empty() ? "\"..\"" : quote_toml(rules.words.front());
  }
}

std::string comment(std::string_view text, const std::string& margin) {
  constexpr std::size_t width = 110;
  std::string out, line = margin;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line = margin;
    }
    line.append(" ").append(word);
  }
  return out + line + "\n";
}

class Writer {
 public:
  Writer(const Registry& registry, std::filesystem::path folder)
      : registry_(registry), folder_(std::move(folder)) {}

  std::string write(const Value& resolved, const Schema& recipe) {
    out_ = "# A recipe for runner " RUNNER_VERSION
           ". Every key is listed; those that you do not change can be deleted.\n"
           "#   runner check FILE    says what is wrong with it\n"
           "#   runner FILE          runs it\n";
    tables(recipe, *resolved.as<Table>(), "");
    return std::move(out_);
  }

 private:
  void keys(const Schema& schema, const Table& table) {
    for (const FieldInfo& field : schema.fields) {
      if (holds_tables(field.type)) continue;
      const Value* value = table.find(field.name);
      const std::string key = key_to_toml(field.name);
      out_ += comment(std::string(field.doc) + " (" + meaning(field) + ")", "#");
      if (field.rules.secret) {
        out_ += "# " + key + " = \"${env:NAME}\"\n";
      } else if (value) {
        const Value shown = escaped(names_files(field) ? from_folder(*value) : *value);
        out_ += key + " = " + to_toml(shown) + (is_blank(*value) ? "  # fill this in" : "") + "\n";
      } else {
        out_ += "# " + key + " = " + example(field.type, field.rules) + "\n";
      }
    }
  }

  static bool names_files(const FieldInfo& field) {
    const TypeInfo& type = field.type.element ? *field.type.element : field.type;
    return type.kind == TypeInfo::Kind::path && !field.rules.in_run_folder;
  }

  Value from_folder(Value value) const {
    if (auto* text = value.as<std::string>()) {
      const std::filesystem::path inside = std::filesystem::path(*text).lexically_relative(folder_);
      const bool is_inside = !inside.empty() && *inside.begin() != "..";
      if (is_inside && text->starts_with('/')) *text = inside.string();
    }
    if (auto* list = value.as<Array>()) {
      for (Value& item : *list) item = from_folder(item);
    }
    if (auto* table = value.as<Table>()) {
      for (Member& member : *table) member.value = from_folder(member.value);
    }
    return value;
  }

  // The line itself contains the default, so here only the type and the rules.
  static std::string meaning(FieldInfo field) {
    field.default_value.reset();
    std::vector<std::string> words;
    for (const ChoiceInfo& choice : field.type.choices) {
      words.push_back(quote_toml(choice.name));
      if (!choice.doc.empty()) words.back() += ": " + std::string(choice.doc);
    }
    if (words.empty()) return summary_text(field);
    if (field.type.optional) words.emplace_back("optional");
    return joined(words, "; ");
  }

  void tables(const Schema& schema, const Table& table, const std::string& prefix) {
    for (const FieldInfo& field : schema.fields) {
      if (!holds_tables(field.type)) continue;
      const std::string path = prefix + key_to_toml(field.name);
      const Value* value = table.find(field.name);
      const auto* list = value ? value->as<Array>() : nullptr;
      const bool in_list = field.type.kind == TypeInfo::Kind::list;
      const std::string header = in_list ? "[[" + path + "]]" : "[" + path + "]";
      if (!value || (list && list->empty())) {
        absent(field, path);
      } else if (list) {
        for (const Value& item : *list) present(field, *field.type.element, item, path, header);
      } else {
        present(field, field.type, *value, path, header);
      }
    }
  }

  void present(const FieldInfo& field, const TypeInfo& type, const Value& value, const std::string& path,
               const std::string& header) {
    out_ += "\n" + comment(field.doc, "#");
    if (is_blank(value)) {
      out_ += header + "\nname = \"???\"  # fill this in\n";
      return;
    }
    const Table& table = *value.as<Table>();
    if (type.kind == TypeInfo::Kind::table) {
      out_ += header + "\n";
      keys(type.schema(), table);
      tables(type.schema(), table, path + ".");
      return;
    }
    const std::string kind(type.part_kind), name = *table.find("name")->as<std::string>();
    const Descriptor& descriptor = find_component(registry_, kind, name);
    out_ += "# There are more: runner list " + kind + "\n" + header + "\n";
    out_ += comment(descriptor.summary, "#") + "name = " + quote_toml(name) + "\n";
    const Schema schema = descriptor.schema();
    keys(schema, table);
    tables(schema, table, path + ".");
  }

  // A section that is not set, commented out.
  void absent(const FieldInfo& field, const std::string& path) {
    const bool in_list = field.type.kind == TypeInfo::Kind::list;
    const TypeInfo& type = in_list ? *field.type.element : field.type;
    out_ += "\n" + comment(field.doc, "#") + "# " + (in_list ? "[[" + path + "]]" : "[" + path + "]") + "\n";
    if (type.kind == TypeInfo::Kind::part) {
      const auto known = registry_.of_kind(type.part_kind);
      out_ += "# name = " + (known.empty() ? "\"..\"" : quote_toml(known.front()->name)) + "\n";
      out_ += comment(
          joined(registry_.names(type.part_kind)) + "; runner list " + std::string(type.part_kind), "#  ");
      return;
    }
    for (const FieldInfo& inner : type.schema().fields) {
      if (holds_tables(inner.type)) continue;
      out_ += comment(std::string(inner.doc) + " (" + summary_text(inner) + ")", "#  ");
      out_ += "# " + key_to_toml(inner.name) + " = " +
              (inner.default_value ? to_toml(*inner.default_value) : example(inner.type, inner.rules)) + "\n";
    }
  }

  const Registry& registry_;
  std::filesystem::path folder_;
  std::string out_;
};

}  // namespace

std::string commented_recipe(const Value& resolved, const Schema& recipe, const Registry& registry,
                             const std::filesystem::path& folder) {
  const std::filesystem::path there = std::filesystem::current_path() / folder;
  return Writer(registry, (there / "").lexically_normal().parent_path()).write(resolved, recipe);
}

}  // namespace runner
