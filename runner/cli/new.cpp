#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <stdexcept>

#include "runner/cli/commands.hpp"
#include "runner/cli/problem.hpp"
#include "runner/cli/recipe_files.hpp"
#include "runner/describe/template.hpp"
#include "runner/plugins/find_plugin.hpp"
#include "runner/resolve.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

namespace {

// The recipe that a new one is made from unless another is named: small, and runs anywhere.
constexpr const char* starter = "shapes";

std::vector<const FieldInfo*> single_parts() {
  std::vector<const FieldInfo*> parts;
  for (const FieldInfo& field : recipe_schema().fields) {
    if (field.type.kind == TypeInfo::Kind::part) parts.push_back(&field);
  }
  return parts;
}

// All of it or nothing: what was there before stays until the new text is whole.
void write_file(const fs::path& file, const std::string& text) {
  const fs::path unfinished = file.string() + "." + std::to_string(getpid()) + ".part";
  std::ofstream stream(unfinished, std::ios::binary);
  stream << text;
  stream.close();
  std::error_code error;
  if (stream) fs::rename(unfinished, file, error);
  if (stream && !error) return;
  std::error_code ignored;
  fs::remove(unfinished, ignored);
  throw std::runtime_error("cannot write " + file.string() + (error ? ": " + error.message() : ""));
}

std::vector<std::string> overrides_of(const Arguments& arguments, const std::vector<std::string>& typed) {
  std::vector<std::string> overrides;
  const fs::path file = arguments.get("output");
  if (!file.empty()) overrides.push_back("run.name=" + quote_toml(file.stem().string()));
  for (const FieldInfo* part : single_parts()) {
    const std::string key(part->name);
    if (arguments.has(key)) overrides.push_back(key + "=" + quote_toml(arguments.get(key)));
  }
  overrides.insert(overrides.end(), typed.begin(), typed.end());
  return overrides;
}

std::optional<fs::path> find_template(const std::string& name, const Session& session) {
  std::error_code error;
  if (fs::exists(name, error)) return name;
  return known_recipe(name, session.environment);
}

int make_new(const Arguments& arguments, Session& session) {
  std::vector<std::string> words = arguments.all("TEMPLATE");
  words.insert(words.end(), arguments.all("OVERRIDE").begin(), arguments.all("OVERRIDE").end());
  const auto [templates, typed] = sort_words(words);
  if (templates.size() > 1) return refuse({"more than one template is named: " + joined(templates)}, session);
  const std::string wanted = templates.empty() ? starter : templates.front();
  const auto base = find_template(wanted, session);
  if (!base) {
    Problem problem{"there is no recipe \"" + wanted + "\" to start from", {}, "runner new --help"};
    const auto shipped = known_recipes(session.environment);
    problem.hints.push_back(shipped.empty() ? "name a recipe file: runner new FILE"
                                            : "there is: " + joined(shipped) + ", or any recipe file");
    return refuse(problem, session);
  }
  const fs::path file = arguments.get("output");
  std::error_code error;
  if (!file.empty() && fs::exists(file, error) && !arguments.has("force")) {
    return refuse({file.string() + " exists already", {"--force replaces it"}}, session);
  }
  Diagnostics found;
  // Of the environment only where plugins are: what else it sets is not for a file to keep.
  std::map<std::string, std::string> environment;
  if (const auto path = session.environment.find(plugin_path_variable); path != session.environment.end())
    environment.insert(*path);
  const auto resolved =
      resolve_recipe({*base, environment, overrides_of(arguments, typed)}, session.registry, found);
  session.err << render(found, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  const std::string text = commented_recipe(*resolved, recipe_schema(), session.registry);
  if (file.empty()) {
    session.out << text;
    return Exit::done;
  }
  write_file(file, text);
  session.out << "wrote " << file.string() << "; run it with: runner " << file.string() << "\n";
  return Exit::done;
}

}  // namespace

Command new_command() {
  std::vector<Option> options{{.name = "output",
                               .doc = "Where to write it; the screen where not given.",
                               .value = "FILE",
                               .letter = 'o',
                               .word = Word::file},
                              {.name = "force", .doc = "Replace the file if it exists.", .letter = 'f'}};
  for (const FieldInfo* part : single_parts()) {
    const std::string kind(part->type.part_kind);
    options.push_back({.name = std::string(part->name),
                       .doc = "Which " + kind + " (runner list " + kind + ").",
                       .value = "NAME",
                       .word = Word::component,
                       .of_kind = kind});
  }
  return {
      .name = "new",
      .summary = "Write a commented recipe to start from: every parameter, its meaning and its default.",
      .arguments = {{"TEMPLATE", "A recipe to begin with: a file, or the name of one that comes with runner.",
                     Argument::Count::optional, Word::template_},
                    {"OVERRIDE", "Changes to it, as for a run.", Argument::Count::any, Word::override_}},
      .options = std::move(options),
      .examples = {{"runner new -o mine.toml", "something small that runs anywhere"},
                   {"runner new --model resnet18 --dataset cifar10", "with these parts"},
                   {"runner new cifar10 optimizer=adamw -o mine.toml",
                    "from a recipe that comes with runner"}},
      .run = &make_new};
}

}  // namespace runner::cli
