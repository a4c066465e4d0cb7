#include <nlohmann/json.hpp>
#include <ostream>

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/problem.hpp"
#include "runner/describe/json.hpp"
#include "runner/describe/kinds.hpp"
#include "runner/describe/snippet.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

// Sections of a recipe are asked for as if they were components of this kind.
constexpr std::string_view section_kind = "section";

void print_fields(const Schema& schema, Session& session, const std::string& indent = "  ") {
  const Style& style = session.out_style;
  for (const FieldInfo& field : schema.fields) {
    session.out << indent << style.cyan(field.name) << "  " << style.dim(summary_text(field)) << "\n"
                << indent << "    " << wrapped(field.doc, 100 - indent.size(), indent + "    ") << "\n";
    const TypeInfo& type = field.type.element ? *field.type.element : field.type;
    Rows choices;
    for (const ChoiceInfo& choice : type.choices) {
      if (!choice.doc.empty()) choices.emplace_back(quote_toml(choice.name), choice.doc);
    }
    session.out << two_columns(choices, indent + "    ");
    if (!field.rules.renamed_from.empty()) {
      session.out << indent << "    formerly \"" << field.rules.renamed_from << "\"\n";
    }
    if (type.schema) print_fields(type.schema(), session, indent + "    ");
  }
}

void print_parameters(std::string_view title, const Schema& schema, Session& session) {
  if (schema.fields.empty()) return;
  session.out << "\n" << session.out_style.bold(title) << "\n";
  print_fields(schema, session);
}

void print_snippet(const std::string& toml, Session& session) {
  session.out << "\n" << session.out_style.bold("In a recipe") << "\n";
  for (std::size_t at = 0; at < toml.size();) {
    const auto end = std::min(toml.find('\n', at), toml.size());
    session.out << "  " << toml.substr(at, end - at) << "\n";
    at = end + 1;
  }
}

int describe_component(const Descriptor& descriptor, bool as_json, Session& session) {
  if (as_json) {
    session.out << dumped(to_json(descriptor));
    return Exit::done;
  }
  const KindInfo& kind = *descriptor.kind;
  session.out << session.out_style.bold(std::string(kind.name) + " " + std::string(descriptor.name)) << "\n  "
              << descriptor.summary << "\n";
  print_parameters("Parameters", descriptor.own_schema(), session);
  print_parameters("Parameters of every " + std::string(kind.name), kind.common(), session);
  print_snippet(component_snippet(descriptor, places_of_kind(recipe_schema(), session.registry, kind.name)),
                session);
  return Exit::done;
}

int describe_kind(const KindInfo& kind, bool as_json, Session& session) {
  const auto components = session.registry.of_kind(kind.name);
  if (as_json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Descriptor* descriptor : components) list.push_back(to_json(*descriptor));
    session.out << dumped({{"kind", kind.name}, {"summary", kind.summary}, {"components", list}});
    return Exit::done;
  }
  Rows rows;
  for (const Descriptor* descriptor : components) {
    rows.emplace_back(session.out_style.cyan(descriptor->name), std::string(descriptor->summary));
  }
  session.out << session.out_style.bold(kind.name) << "\n  " << kind.summary << "\n\n"
              << session.out_style.bold("Components") << "\n"
              << two_columns(rows);
  print_parameters("Parameters of every " + std::string(kind.name), kind.common(), session);
  return Exit::done;
}

int describe_sections(bool as_json, Session& session) {
  if (as_json) {
    session.out << dumped(to_json(recipe_schema()));
    return Exit::done;
  }
  Rows rows;
  for (const FieldInfo& field : recipe_schema().fields) {
    const std::string state = field.required() ? " Required." : "";
    rows.emplace_back(session.out_style.cyan(field.name), std::string(field.doc) + state);
  }
  session.out << session.out_style.bold("Sections of a recipe") << "\n" << two_columns(rows);
  return Exit::done;
}

// A key at the top of the recipe, outside all sections.
int describe_key(const FieldInfo& field, bool as_json, Session& session) {
  Schema schema;
  schema.fields.push_back(field);
  if (as_json) {
    session.out << dumped(to_json(schema));
  } else {
    print_fields(schema, session, "");
  }
  return Exit::done;
}

int describe_section(const std::string& name, bool as_json, Session& session) {
  const FieldInfo* field = recipe_schema().find(name);
  if (!field) {
    Problem problem{"a recipe has no section " + in_quotes(name)};
    const auto names = recipe_schema().names();
    if (const auto hint = did_you_mean(name, names)) problem.hints.push_back(*hint);
    problem.hints.push_back("sections: " + joined(names));
    problem.see = "runner describe section";
    return refuse(problem, session);
  }
  // If a section is a component, its kind says what it may hold.
  const TypeInfo& type = field->type.element ? *field->type.element : field->type;
  if (const KindInfo* kind = find_kind(session.registry, type.part_kind))
    return describe_kind(*kind, as_json, session);
  if (!type.schema && type.kind != TypeInfo::Kind::part) return describe_key(*field, as_json, session);
  if (!type.schema)
    return refuse(
        {"section " + in_quotes(name) + " holds components of a kind for which this program has none"},
        session);
  if (as_json) {
    session.out << dumped({{"section", name}, {"doc", field->doc}, {"parameters", to_json(type.schema())}});
    return Exit::done;
  }
  session.out << session.out_style.bold("[" + name + "]") << "\n  " << field->doc << "\n";
  print_parameters("Keys", type.schema(), session);
  print_snippet("[" + name + "]\n" + settings_snippet(type.schema()), session);
  return Exit::done;
}

Problem unknown_component(const KindInfo& kind, const std::string& name, const Registry& registry) {
  const auto names = registry.names(kind.name);
  Problem problem{"there is no " + std::string(kind.name) + " called " + in_quotes(name)};
  if (const auto hint = did_you_mean(name, names)) problem.hints.push_back(*hint);
  problem.hints.push_back("available: " + joined(names));
  problem.see = "runner list " + std::string(kind.name);
  return problem;
}

// "runner describe sgd": the name alone is enough if it is unambiguous.
int describe_word(const std::string& word, bool as_json, Session& session) {
  std::vector<const Descriptor*> found;
  for (const KindInfo* kind : session.registry.kinds()) {
    if (const Descriptor* descriptor = session.registry.find(kind->name, word)) found.push_back(descriptor);
  }
  if (found.size() == 1) return describe_component(*found.front(), as_json, session);
  if (found.empty() && recipe_schema().find(word)) return describe_section(word, as_json, session);
  Problem problem = unknown_kind(word, session.registry);
  if (found.size() > 1) {
    problem = {"there is more than one " + in_quotes(word), {}, "runner list"};
    for (const Descriptor* descriptor : found) {
      problem.hints.push_back("runner describe " + std::string(descriptor->kind->name) + " " + word);
    }
  }
  return refuse(problem, session);
}

int describe(const Arguments& arguments, Session& session) {
  const std::string kind_name = arguments.get("KIND"), name = arguments.get("NAME");
  const bool as_json = arguments.has("json"), has_name = arguments.has("NAME");
  if (kind_name == section_kind) {
    return has_name ? describe_section(name, as_json, session) : describe_sections(as_json, session);
  }
  const KindInfo* kind = find_kind(session.registry, kind_name);
  if (!kind && !has_name) return describe_word(kind_name, as_json, session);
  if (!kind) return refuse(unknown_kind(kind_name, session.registry), session);
  if (!has_name) return describe_kind(*kind, as_json, session);
  const Descriptor* descriptor = session.registry.find(kind_name, name);
  if (!descriptor) return refuse(unknown_component(*kind, name, session.registry), session);
  return describe_component(*descriptor, as_json, session);
}

}  // namespace

Command describe_command() {
  return {
      .name = "describe",
      .summary = "Explain a component, a kind or a section: every parameter, its type and its default.",
      .arguments = {{"KIND", "A kind of component (runner list), or \"section\" for a section of the recipe.",
                     Argument::Count::one, Word::kind},
                    {"NAME", "The component or section; default: all of them.", Argument::Count::optional,
                     Word::component}},
      .options = {{.name = "json", .doc = "The same as JSON, for programs."}},
      .examples = {{"runner describe optimizer sgd", "one component"},
                   {"runner describe scheduler", "a kind, with what all its components share"},
                   {"runner describe section train", "a section of the recipe"}},
      .run = &describe};
}

}  // namespace runner::cli
