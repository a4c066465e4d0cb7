#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "registry/base/utf8.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/recipe_files.hpp"
#include "runner/cli/problem.hpp"
#include "runner/describe/json.hpp"
#include "runner/describe/kinds.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

namespace {

void print_kind(const KindInfo& kind, Session& session) {
  const Style& style = session.out_style;
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Descriptor* descriptor : session.registry.of_kind(kind.name)) {
    rows.emplace_back(style.cyan(descriptor->name), std::string(descriptor->summary));
  }
  session.out << style.bold(kind.name) << "  " << style.dim(kind.summary) << "\n" << two_columns(rows);
}

int list_json(const std::vector<const KindInfo*>& kinds, Session& session) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const KindInfo* kind : kinds) {
    nlohmann::ordered_json components = nlohmann::ordered_json::array();
    for (const Descriptor* descriptor : session.registry.of_kind(kind->name)) {
      components.push_back({{"name", descriptor->name}, {"summary", descriptor->summary}});
    }
    all.push_back({{"kind", kind->name}, {"summary", kind->summary}, {"components", components}});
  }
  session.out << dumped(all);
  return Exit::done;
}

// The comment in its first line.
std::string summary_of(const fs::path& recipe) {
  std::ifstream file(recipe);
  std::string line;
  std::getline(file, line);
  return line.starts_with("# ") ? printable(line.substr(2)) : "";
}

int list_recipes(bool as_json, Session& session) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::vector<std::pair<std::string, std::string>> rows;
  for (const std::string& name : known_recipes(session.environment)) {
    const auto file = known_recipe(name, session.environment);
    if (!file) continue;  // a name that cannot be typed: "a..b"
    json.push_back({{"name", name}, {"file", file->string()}, {"summary", summary_of(*file)}});
    rows.emplace_back(session.out_style.cyan(printable(name)), summary_of(*file));
  }
  session.out << (as_json ? dumped(json) : two_columns(rows, ""));
  return Exit::done;
}

int list(const Arguments& arguments, Session& session) {
  if (arguments.get("KIND") == "recipes") return list_recipes(arguments.has("json"), session);
  std::vector<const KindInfo*> kinds = session.registry.kinds();
  if (arguments.has("KIND")) {
    const std::string wanted = arguments.get("KIND");
    const KindInfo* kind = find_kind(session.registry, wanted);
    if (!kind) return refuse(unknown_kind(wanted, session.registry), session);
    kinds = {kind};
  }
  if (arguments.has("json")) return list_json(kinds, session);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (i > 0) session.out << "\n";
    print_kind(*kinds[i], session);
  }
  return Exit::done;
}

}  // namespace

Command list_command() {
  return {.name = "list",
          .summary = "List the components that a recipe can name.",
          .arguments = {{"KIND", "Only components of this kind; \"recipes\" lists the recipes.",
                         Argument::Count::optional, Word::kind}},
          .options = {{.name = "json", .doc = "The same as JSON, for programs."}},
          .examples = {{"runner list", "everything"},
                       {"runner list optimizer", "the optimizers"},
                       {"runner list recipes", "recipes that can be run by name: runner shapes"}},
          .run = &list};
}

}  // namespace runner::cli
