#include <algorithm>
#include <filesystem>
#include <ostream>

#include "components/datasets/read/file_text.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/conform.hpp"
#include "registry/files/atomic_file.hpp"
#include "runner/check/deep_check.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/recipe_files.hpp"
#include "runner/cli/problem.hpp"
#include "runner/cli/starters/starting_point.hpp"
#include "runner/describe/template.hpp"
#include "runner/inspect/pretrained_settings.hpp"
#include "runner/plugins/find_plugin.hpp"
#include "runner/process/failure.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/terminal/text.hpp"
#include "runner/toml/reference.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

namespace {

// The default template: small, and runs anywhere.
constexpr const char* starter = "shapes";

std::vector<const FieldInfo*> single_parts() {
  std::vector<const FieldInfo*> parts;
  for (const FieldInfo& field : recipe_schema().fields) {
    if (field.type.kind == TypeInfo::Kind::part) parts.push_back(&field);
  }
  return parts;
}

// Settings that --task chooses for the model of its template do not fit other models.
bool is_for_another_model(const std::string& override, const Arguments& arguments,
                          const std::vector<std::string>& typed) {
  const auto chooses_model = [](const std::string& word) {
    return word.starts_with("model=") || word.starts_with("model.name=");
  };
  return arguments.has("task") && override.starts_with("model.") &&
         (arguments.has("model") || std::ranges::any_of(typed, chooses_model));
}

std::vector<std::string> overrides_of(const Arguments& arguments, const std::vector<std::string>& fitting,
                                      const std::vector<std::string>& typed) {
  std::vector<std::string> overrides;
  const fs::path file = arguments.get("output");
  if (!file.empty()) overrides.push_back("run.name=" + quote_toml(escape_references(file.stem().string())));
  for (const FieldInfo* part : single_parts()) {
    const std::string key(part->name);
    if (arguments.has(key)) overrides.push_back(key + "=" + quote_toml(arguments.get(key)));
  }
  for (const std::string& one : fitting) {
    if (!is_for_another_model(one, arguments, typed)) overrides.push_back(one);
  }
  overrides.insert(overrides.end(), typed.begin(), typed.end());
  return overrides;
}

// The task whose data this may be; empty: it looks like a recipe.
std::string task_of(const fs::path& named) {
  std::error_code ignored;
  if (fs::is_directory(named, ignored)) return fs::exists(named / "recipe.toml", ignored) ? "" : "images";
  const std::string ending = ending_of(named);
  if (ending == ".csv" || ending == ".tsv" || ending == ".jsonl") return "table";
  return ending == ".txt" ? "language-model" : "";
}

std::variant<StartingPoint, Problem> start_from_template(const std::string& wanted, const Session& session) {
  const auto base =
      find_recipe(wanted, session.environment);  // a folder of the name of a recipe does not hide it
  const fs::path found = base.value_or(wanted);
  if (const std::string task = task_of(found); !task.empty() && fs::exists(found)) {
    return Problem{
        in_quotes(wanted) + " is not a recipe to start from",
        {"for your own data: runner new --task " + task + " " + wanted, "tasks: " + joined(data_tasks())},
        "runner new --help"};
  }
  if (base) return StartingPoint{*base};
  Problem problem{"there is no recipe " + in_quotes(wanted) + " to start from", {}, "runner new --help"};
  const auto shipped = known_recipes(session.environment);
  problem.hints.push_back(shipped.empty() ? "name a recipe file: runner new FILE"
                                          : "available: " + joined(shipped) + ", or any recipe file");
  return problem;
}

// Whether the dataset of the new recipe has a tokenizer that the user has not chosen.
bool takes_tokenizer(const StartingPoint& start, const Arguments& arguments,
                     const std::vector<std::string>& typed, const Registry& registry) {
  std::string dataset =
      arguments.has("dataset") ? arguments.get("dataset") : part_in(start.recipe, "dataset", registry);
  for (const std::string& word : typed) {
    if (word.starts_with("dataset.tokenizer")) return false;
    for (const std::string_view key : {"dataset=", "dataset.name="})
      if (word.starts_with(key)) dataset = word.substr(key.size());
  }
  const Descriptor* component = registry.find("dataset", dataset);
  return component && component->schema().find("tokenizer");
}

// For pretrained weights: their model, with the settings of their config.json.
std::variant<StartingPoint, Problem> start_from_pretrained(const Arguments& arguments,
                                                           const std::string& named,
                                                           const std::vector<std::string>& typed,
                                                           const Session& session) {
  const PretrainedSettings settings = pretrained_settings(arguments.get("from"), session.registry);
  auto start = named.empty() ? start_from_parts(arguments.get("dataset"), settings.model, session.registry)
                             : start_from_template(named, session);
  if (auto* found = std::get_if<StartingPoint>(&start)) {
    found->overrides.push_back("model=" + quote_toml(settings.model));
    found->overrides.insert(found->overrides.end(), settings.overrides.begin(), settings.overrides.end());
    if (!settings.tokenizer.empty() && takes_tokenizer(*found, arguments, typed, session.registry))
      found->overrides.push_back("dataset.tokenizer=" + settings.tokenizer);
    if (!settings.classes.empty())
      found->notes.push_back("the weights name their classes " + listed(settings.classes) +
                             ", in this order; a dataset sorts its classes by name");
  }
  return start;
}

// A named template is used unchanged; without one, the recipe is made to fit the chosen components.
std::variant<StartingPoint, Problem> starting_point(const Arguments& arguments, const std::string& named,
                                                    const std::vector<std::string>& typed,
                                                    const Session& session) {
  if (arguments.has("task")) {
    if (arguments.has("from"))
      return Problem{"--task starts from your data, --from from trained weights: give one of the two",
                     {},
                     "runner new --help"};
    if (named.empty())
      return Problem{"--task needs your data: runner new --task " + arguments.get("task") + " PATH"};
    return start_from_data(arguments.get("task"), named, typed);
  }
  if (arguments.has("from")) return start_from_pretrained(arguments, named, typed, session);
  if (!named.empty()) return start_from_template(named, session);
  if (!arguments.has("dataset") && !arguments.has("model")) return start_from_template(starter, session);
  return start_from_parts(arguments.get("dataset"), arguments.get("model"), session.registry);
}

// The keys that are still to be filled in.
void find_blanks(const Value& value, const std::string& path, std::vector<std::string>& found) {
  if (is_blank(value)) found.push_back(path);
  if (const auto* list = value.as<Array>()) {
    for (std::size_t i = 0; i < list->size(); ++i)
      find_blanks((*list)[i], key_below(path, std::to_string(i)), found);
  }
  if (const auto* table = value.as<Table>()) {
    for (const Member& member : *table)
      find_blanks(member.value, key_below(path, key_to_toml(member.key)), found);
  }
}

// How to read the user's data is a guess, so the recipe is tried at once. Returns what is wrong, or "".
std::string misfit(const Value& resolved, const Registry& registry) {
  const log::Silence quiet;
  try {
    check_deeply(resolved, registry);
    return "";
  } catch (const std::exception& error) {
    return failure_text(error);
  }
}

int make_new(const Arguments& arguments, Session& session) {
  std::vector<std::string> words = arguments.all("TEMPLATE");
  words.insert(words.end(), arguments.all("OVERRIDE").begin(), arguments.all("OVERRIDE").end());
  auto [templates, typed] = sort_words(words);
  if (templates.size() > 1) return refuse({"more than one template is named: " + joined(templates)}, session);
  const auto start = starting_point(arguments, templates.empty() ? "" : templates.front(), typed, session);
  if (const auto* problem = std::get_if<Problem>(&start)) return refuse(*problem, session);
  const auto& [base, fitting, notes] = std::get<StartingPoint>(start);
  const fs::path file = arguments.get("output");
  std::error_code error;
  if (!file.empty() && fs::exists(file, error) && !arguments.has("force")) {
    return refuse({file.string() + " exists already", {"--force replaces it"}}, session);
  }
  Diagnostics found;
  // Of the environment, only the plugin path is used: its settings do not belong in the new file.
  std::map<std::string, std::string> environment;
  if (const auto path = session.environment.find(plugin_path_variable); path != session.environment.end())
    environment.insert(*path);
  const auto resolved = resolve_recipe({base, environment, overrides_of(arguments, fitting, typed)},
                                       session.registry, found, Blanks::allowed);
  session.err << render(found, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  for (const std::string& note : notes) session.err << "runner: note: " << shown_message(note) << "\n";
  const std::string text = commented_recipe(*resolved, recipe_schema(), session.registry, file.parent_path());
  if (file.empty()) {
    session.out << text;
    return Exit::done;
  }
  write_atomically(file, text);
  std::vector<std::string> blanks;
  find_blanks(*resolved, "", blanks);
  session.out << "wrote " << file.string() << "; ";
  if (!blanks.empty()) session.out << "fill in what is marked \"???\" (" << joined(blanks) << "), then ";
  session.out << "run it with: runner " << file.string() << "\n";
  if (!arguments.has("task") || !blanks.empty()) return Exit::done;  // blanks cannot be tried
  if (const std::string problem = misfit(*resolved, session.registry); !problem.empty()) {
    session.err << "runner: warning: the recipe does not fit the data yet: " << problem << "\n  correct "
                << file.string() << " and try: runner check --deep " << file.string() << "\n";
  }
  return Exit::done;
}

}  // namespace

Command new_command() {
  std::vector<Option> options{
      {.name = "output",
       .doc = "Output file; default: standard output.",
       .value = "FILE",
       .letter = 'o',
       .word = Word::file},
      {.name = "force", .doc = "Replace the file if it exists.", .letter = 'f'},
      {.name = "from",
       .doc = "Start from trained weights: a folder that HuggingFace's save_pretrained wrote.",
       .value = "FOLDER",
       .word = Word::file},
      {.name = "task",
       .doc = "Write a recipe for your own data, whose path replaces TEMPLATE: " +
              joined(data_tasks(), ", ") + ".",
       .value = "TASK"}};
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
      .arguments =
          {{"TEMPLATE",
            "The recipe to start from: a file, or the name of one that comes with runner. With --task: your "
            "data, a file or a folder.",
            Argument::Count::optional, Word::template_},
           {"OVERRIDE", "Changes to it, as for `runner run`.", Argument::Count::any, Word::override_}},
      .options = std::move(options),
      .examples =
          {{"runner new -o mine.toml", "something small that runs anywhere"},
           {"runner new --task images photos/ -o mine.toml", "for your own images, one folder per class"},
           {"runner new --task table people.csv -o mine.toml", "for your own table"},
           {"runner new --dataset csv --model tabular", "what fits these two, with blanks to fill in"},
           {"runner new --from Llama-3.2-1B/ -o mine.toml", "the model and the settings of these weights"},
           {"runner new cifar10 optimizer=adamw -o mine.toml", "from a recipe that comes with runner"}},
      .run = &make_new,
      .details =
          "Without a template, loss, metrics and transforms are chosen to fit --dataset and --model. Values "
          "that only\nyou know are written as \"???\"; `runner check` says what belongs there."};
}

}  // namespace runner::cli
