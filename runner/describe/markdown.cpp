#include "runner/describe/markdown.hpp"

#include "registry/base/wording.hpp"
#include "runner/describe/kinds.hpp"
#include "runner/describe/snippet.hpp"

namespace runner {

namespace {

constexpr std::string_view generated = "<!-- Written by `runner docs`: do not edit. -->\n\n";

// Text for a cell of a table, with the special characters of Markdown escaped.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '|': out += "\\|"; break;
      case '<': out += "&lt;"; break;
      case '\n': out += ' '; break;
      default: out += c;
    }
  }
  return out;
}

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string type_cell(const FieldInfo& field) {
  const bool is_part = field.type.kind == TypeInfo::Kind::part;
  std::string text = is_part ? "[" + type_text(field.type) + "](" + std::string(field.type.part_kind) + ".md)"
                             : type_text(field.type);
  const std::string rules = rule_text(field);
  return rules.empty() ? text : text + ", " + rules;
}

std::string default_cell(const FieldInfo& field) {
  if (field.required()) return "**required**";
  if (field.rules.secret) return "secret";
  if (field.default_value) return code(to_toml(*field.default_value));
  return "not set";
}

std::string meaning_cell(const FieldInfo& field) {
  std::string text = cell(field.doc);
  for (const ChoiceInfo& choice : field.type.choices) {
    if (!choice.doc.empty()) text += "<br>" + code(choice.name) + ": " + cell(choice.doc);
  }
  if (!field.rules.renamed_from.empty()) text += "<br>Formerly " + code(field.rules.renamed_from) + ".";
  return text;
}

void add_rows(const Schema& schema, const std::string& prefix, std::string& out) {
  for (const FieldInfo& field : schema.fields) {
    const std::string key = prefix + std::string(field.name);
    out += "| " + code(key) + " | " + cell(type_cell(field)) + " | " + cell(default_cell(field)) + " | " +
           meaning_cell(field) + " |\n";
    const bool in_list = field.type.kind == TypeInfo::Kind::list;
    const TypeInfo& type = in_list ? *field.type.element : field.type;
    if (type.schema) add_rows(type.schema(), key + (in_list ? "[]." : "."), out);
  }
}

std::string parameter_table(const Schema& schema) {
  std::string out = "| key | type | default | meaning |\n|---|---|---|---|\n";
  add_rows(schema, "", out);
  return out;
}

}  // namespace

std::string kind_page(const KindInfo& kind, const Schema& recipe, const Registry& registry) {
  const std::string name(kind.name);
  const auto components = registry.of_kind(kind.name);
  const auto places = places_of_kind(recipe, registry, kind.name);
  std::string out(generated);
  out.append("# ").append(name).append("\n\n").append(kind.summary).append("\n");
  if (!places.empty()) {
    out += "In a recipe:";
    for (const PartPlace& place : places) out += " " + code(place.header());
    out += ".\n";
  }
  out += "\n| " + name + " | |\n|---|---|\n";
  for (const Descriptor* component : components) {
    const std::string link(component->name);
    out += "| [" + link + "](#" + link + ") | " + cell(component->summary) + " |\n";
  }
  if (!kind.common().fields.empty()) {
    out += "\n## Parameters of every " + name + "\n\n" + parameter_table(kind.common());
  }
  for (const Descriptor* component : components) {
    out += "\n## " + std::string(component->name) + "\n\n" + std::string(component->summary) + "\n\n";
    const Schema& own = component->own_schema();
    out += own.fields.empty() ? "No parameters of its own.\n" : parameter_table(own);
    out += "\n```toml\n" + component_snippet(*component, places) + "```\n";
  }
  return out;
}

std::string recipe_page(const Schema& recipe, const Registry& registry) {
  std::string out(generated);
  out +=
      "# Recipe reference\n\nEvery section that a recipe may hold. `extends = \"base.toml\"`, or a list of "
      "files, before the "
      "first section inherits their settings.\nHow recipes are written, inherited and overridden: "
      "[guide](guide.md).\n\n";
  out += "| section | | |\n|---|---|---|\n";
  for (const FieldInfo& field : recipe.fields) {
    const std::string name(field.name);
    out += "| [" + name + "](#" + name + ") | " + cell(field.doc) + " | " +
           (field.required() ? "**required**" : "") + " |\n";
  }
  for (const FieldInfo& field : recipe.fields) {
    const std::string name(field.name);
    const bool in_list = field.type.kind == TypeInfo::Kind::list;
    const TypeInfo& type = in_list ? *field.type.element : field.type;
    out += "\n## " + name + "\n\n" + std::string(field.doc) + "\n\n";
    if (type.schema) {
      out += parameter_table(type.schema());
      continue;
    }
    if (type.part_kind.empty()) {
      out += "Stands before the first section: `" + name + " = []` by default, a " + type_text(field.type) +
             ".\n";
      continue;
    }
    const std::string kind(type.part_kind);
    out += in_list ? "A list, one `[[" + name + "]]` for each; `name` says which " + kind + ".\n"
                   : "`name` says which " + kind +
                         (field.default_value
                              ? "; if the section is missing, it is " + code(to_toml(*field.default_value))
                              : "") +
                         ".\n";
    out += "Available components and their parameters: [" + kind + "](components/" + kind + ".md).\n";
    std::vector<std::string> names;
    for (const std::string& component : registry.names(kind)) names.push_back(code(component));
    if (!names.empty()) out += "\n" + joined(names) + "\n";
  }
  return out;
}

}  // namespace runner
