#include "runner/cli/completion/complete.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "runner/cli/commands.hpp"
#include "runner/cli/options/recipe_files.hpp"
#include "runner/cli/parse.hpp"
#include "runner/resolve/resolve.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

std::vector<Candidate> file_candidates(const std::string& word, bool recipes_only) {
  const auto slash = word.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : word.substr(0, slash + 1);
  std::vector<Candidate> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    const bool is_folder = entry->is_directory(ignored);
    const bool hidden = name.starts_with(".") && !word.substr(folder.size()).starts_with(".");
    if (hidden || (recipes_only && !is_folder && !name.ends_with(".toml"))) continue;
    found.push_back({folder + name + (is_folder ? "/" : "")});
  }
  return found;
}

namespace {

void append(std::vector<Candidate>& all, std::vector<Candidate> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<Candidate> command_names() {
  std::vector<Candidate> found;
  for (const Command& command : commands()) {
    if (!command.hidden) found.push_back({std::string(command.name), std::string(command.summary)});
  }
  return found;
}

std::vector<Candidate> kinds(const Command& command, const Registry& registry) {
  std::vector<Candidate> found;
  for (const KindInfo* kind : registry.kinds())
    found.push_back({std::string(kind->name), std::string(kind->summary)});
  if (command.name == "describe") found.push_back({"section", "A section of the recipe."});
  return found;
}

std::vector<Candidate> components(std::string_view kind, const Registry& registry) {
  std::vector<Candidate> found;
  if (kind == "section") {
    for (const FieldInfo& field : recipe_schema().fields)
      found.push_back({std::string(field.name), std::string(field.doc)});
  }
  for (const Descriptor* descriptor : registry.of_kind(kind)) {
    found.push_back({std::string(descriptor->name), std::string(descriptor->summary)});
  }
  return found;
}

std::vector<Candidate> option_names(const Command& command) {
  std::vector<Candidate> found{{"--help", "Explains the command."}};
  for (const auto* options : {&command.options, &common_options()}) {
    for (const Option& option : *options) found.push_back({"--" + option.name, option.doc});
  }
  return found;
}

// Files, and the recipes that are known by name.
std::vector<Candidate> recipe_candidates(const std::string& word, const Session& session) {
  std::vector<Candidate> found = file_candidates(word, true);
  for (std::string& name : known_recipes(session.environment))
    found.push_back({std::move(name), "A recipe."});
  return found;
}

// The command line so far, without the word that is being typed.
struct Typed {
  const Command& command;
  std::vector<std::string> positional = {};
  const Option* waiting = nullptr;  // an option that still needs its value
};

Typed sort_typed(const Command& command, const std::vector<std::string>& words) {
  Typed typed{command};
  for (const std::string& word : words) {
    if (typed.waiting) {
      typed.waiting = nullptr;
    } else if (const Option* option = find_option(command, word)) {
      if (!option->value.empty()) typed.waiting = option;
    } else if (!word.starts_with("-")) {
      typed.positional.push_back(word);
    }
  }
  return typed;
}

std::vector<Candidate> of_word(Word word, const Typed& typed, const std::string& current,
                               const Session& session) {
  const auto sorted = sort_words(typed.positional);
  std::string recipe = sorted.recipes.empty() ? "" : sorted.recipes.front();
  if (const auto file = find_recipe(recipe, session.environment)) recipe = file->string();
  std::vector<Candidate> found;
  switch (word) {
    case Word::recipe: return recipe_candidates(current, session);
    case Word::recipes_and_overrides:
      found = recipe_candidates(current, session);
      if (!recipe.empty()) append(found, override_candidates(recipe, sorted.overrides, current, session));
      return found;
    case Word::override_: return override_candidates(recipe, sorted.overrides, current, session);
    case Word::kind: return kinds(typed.command, session.registry);
    case Word::component:
      return components(typed.positional.empty() ? "" : typed.positional.front(), session.registry);
    case Word::template_: return recipe_candidates(current, session);
    case Word::shell: return {{"bash"}, {"zsh"}, {"fish"}};
    case Word::command: return command_names();
    case Word::file: return file_candidates(current, false);
    case Word::anything: break;
  }
  return found;
}

std::vector<Candidate> of_option(const Option& option, const Typed& typed, const std::string& current,
                                 const Session& session) {
  if (option.word == Word::component) return components(option.of_kind, session.registry);
  return of_word(option.word, typed, current, session);
}

std::vector<Candidate> unfiltered(const std::vector<std::string>& words, const Session& session) {
  const std::string& current = words.back();
  if (words.size() == 1) {
    if (current.starts_with("-")) return {{"--help", "Explains the program."}, {"--version", "The version."}};
    std::vector<Candidate> found = command_names();
    append(found, recipe_candidates(current, session));
    return found;
  }
  const Command* named = find_command(words.front());
  if (words.front() == "help") return words.size() == 2 ? command_names() : std::vector<Candidate>{};
  // Without a command the first word is the recipe to run.
  const Command& command = named ? *named : *find_command("run");
  const Typed typed = sort_typed(command, {words.begin() + (named ? 1 : 0), words.end() - 1});
  if (typed.waiting) return of_option(*typed.waiting, typed, current, session);
  if (const auto equals = current.find('='); current.starts_with("--") && equals != std::string::npos) {
    const Option* option = find_option(command, current.substr(0, equals));
    if (!option || option->value.empty()) return {};
    auto found = of_option(*option, typed, current.substr(equals + 1), session);
    for (Candidate& candidate : found) candidate.text = current.substr(0, equals + 1) + candidate.text;
    return found;
  }
  if (current.starts_with("-")) return option_names(command);
  std::size_t index = typed.positional.size();
  for (const Argument& argument : command.arguments) {
    if (argument.many() || index == 0) return of_word(argument.word, typed, current, session);
    --index;
  }
  return {};
}

// One candidate per line, its description after a tab.
int complete(const Arguments& arguments, Session& session) {
  for (const Candidate& candidate : candidates(arguments.all("WORD"), session)) {
    session.out << candidate.text << (candidate.doc.empty() ? "" : "\t" + candidate.doc) << "\n";
  }
  return Exit::done;
}

}  // namespace

std::vector<Candidate> candidates(std::vector<std::string> words, const Session& session) {
  if (words.empty()) words.emplace_back();
  auto found = unfiltered(words, session);
  std::erase_if(found, [&](const Candidate& candidate) { return !candidate.text.starts_with(words.back()); });
  std::ranges::sort(found, {}, &Candidate::text);
  return found;
}

Command complete_command() {
  return {.name = "__complete",
          .summary = "Print completions of the last word, for the scripts of `runner completions`.",
          .arguments = {{"WORD", "The words after \"runner\", after a \"--\".", Argument::Count::any,
                         Word::anything}},
          .run = &complete,
          .hidden = true};
}

}  // namespace runner::cli
