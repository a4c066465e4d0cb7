#include "runner/cli/cli.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "registry/base/log.hpp"
#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "registry/recipe_error.hpp"
#include "registry/schema_path.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/help.hpp"
#include "runner/cli/options/recipe_files.hpp"
#include "runner/cli/parse.hpp"
#include "runner/cli/problem.hpp"
#include "runner/plugins/find_plugin.hpp"
#include "runner/plugins/load_plugin.hpp"
#include "runner/plugins/plugin_error.hpp"
#include "runner/plugins/read_stamp.hpp"
#include "runner/process/input_error.hpp"
#include "runner/process/version.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> shown_commands() {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (!command.hidden) names.emplace_back(command.name);
  }
  return names;
}

// The first word is neither a command nor a file: suggest what the user may have meant.
int unknown_word(const std::string& word, Session& session) {
  Problem problem{in_quotes(word) + " is neither a command nor a recipe"};
  if (word.starts_with("-")) {
    problem.message = "there is no option " + in_quotes(word) + " before a command";
  } else if (word.starts_with("~") || word.find('=') != std::string::npos) {
    problem.message = "the recipe comes first, then overrides such as " + word;
    problem.hints.push_back("runner RECIPE " + word);
  } else if (looks_like_recipe(word)) {
    problem.message = "there is no file " + in_quotes(word);
    if (const auto meant = nearest_recipe(word))
      problem.hints.push_back("did you mean " + in_quotes(*meant) + "?");
  } else {
    if (const auto hint = did_you_mean(word, shown_commands())) problem.hints.push_back(*hint);
    if (const auto recipe = nearest(word, known_recipes(session.environment))) {
      problem.hints.push_back("there is a recipe " + in_quotes(*recipe) + ": runner " + *recipe);
    }
    for (const KindInfo* kind : session.registry.kinds()) {
      if (!session.registry.find(kind->name, word)) continue;
      problem.hints.push_back("it is the name of a component: runner describe " + std::string(kind->name) +
                              " " + word);
    }
    problem.hints.push_back("commands: " + joined(shown_commands()));
  }
  problem.see = "runner --help";
  return refuse(problem, session);
}

// Other programs take settings as "--lr 0.1": show how that setting is written here.
void add_meant_setting(const Command& command, std::string option, const Registry& registry,
                       Problem& problem) {
  const bool takes_settings = std::ranges::any_of(command.arguments, [](const Argument& argument) {
    return argument.word == Word::override_ || argument.word == Word::recipes_and_overrides;
  });
  if (!takes_settings || option.empty()) return;
  option.erase(0, option.find_first_not_of('-'));
  std::string key = option.substr(0, option.find('='));
  const std::string value = key.size() < option.size() ? option.substr(key.size() + 1) : "..";
  std::ranges::replace(key, '-', '_');
  const SchemaPath schema(recipe_schema(), registry);
  std::vector<std::string> meant = schema.settings_named(Value(), key);
  if (meant.empty() && key.find('.') != std::string::npos) meant = {key};
  if (!meant.empty()) {
    problem.hints.push_back("settings are written " + meant.front() + "=" + value);
  } else {
    problem.hints.push_back("settings are written as in optimizer.lr=0.1, without dashes");
  }
}

int report_conflicts(Session& session) {
  for (const std::string& conflict : session.registry.conflicts())
    session.err << "runner: error: " << conflict << "\n";
  return Exit::failed;
}

// A plugin named by --plugin is trusted like those on RUNNER_PLUGIN_PATH, and searched first. The option may
// be anywhere on the command line of every command. A plugin that does not exist is an error.
std::optional<int> take_plugin_options(std::vector<std::string>& words, Session& session) {
  const std::string option = "--plugin";
  std::string path;
  for (std::size_t i = 0; i < words.size() && words[i] != "--";) {
    const bool separate = words[i] == option && i + 1 < words.size();
    if (!separate && !words[i].starts_with(option + "=")) {
      ++i;
      continue;
    }
    const std::string named = separate ? words[i + 1] : words[i].substr(option.size() + 1);
    std::error_code unreadable;
    if (!fs::exists(named, unreadable))
      return refuse({"--plugin: there is no file or folder " + in_quotes(named), {}, ""}, session);
    if (named.find(':') != std::string::npos)
      return refuse({"--plugin: the path " + in_quotes(named) + " contains a colon, which separates paths",
                     {"rename it, or give it through a symbolic link"}},
                    session);
    path += named + ":";
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(i);
    words.erase(first, first + (separate ? 2 : 1));
  }
  if (!path.empty()) session.environment[plugin_path_variable].insert(0, path);
  return std::nullopt;
}

// A plugin file that is named must be compatible; incompatible ones in a folder are skipped with a warning.
// Entries that do not exist are skipped too: the variable may be set for every shell.
std::optional<int> load_plugins(Session& session) {
  std::vector<std::string> missing;
  for (const fs::path& entry : plugin_path(session.environment)) {
    std::error_code error;
    if (!fs::exists(entry, error)) {
      missing.push_back(entry.string());
      continue;
    }
    const bool folder = fs::is_directory(entry, error);
    for (const fs::path& file : plugins_on_path({entry})) {
      try {
        if (!folder || read_stamp(file)) load_plugin(file);
      } catch (const PluginError& problem) {
        if (!folder) return refuse({problem.what(), problem.hints, ""}, session);
        log::warning("{}; skipping it", problem.what());
      }
    }
  }
  if (!missing.empty())
    log::warning("{}: there is no file or folder {}; skipping {}", plugin_path_variable, listed(missing),
                 missing.size() == 1 ? "it" : "them");
  Registry with_plugins = Registry::of_linked();
  if (with_plugins.libraries().empty()) return std::nullopt;
  session.registry = std::move(with_plugins);
  if (!session.registry.conflicts().empty()) return report_conflicts(session);
  return std::nullopt;
}

// "cifar10" means the recipe of that name, unless there is a file with that name.
void find_named_recipes(const Command& command, const Session& session, Arguments& arguments) {
  const auto find_in = [&](std::string_view name) {
    const auto typed = arguments.values.find(name);
    if (typed == arguments.values.end()) return;
    for (std::string& word : typed->second) {
      if (const auto recipe = find_recipe(word, session.environment)) word = recipe->string();
    }
  };
  for (const Argument& each : command.arguments)
    if (each.word == Word::recipe || each.word == Word::recipes_and_overrides) find_in(each.name);
  for (const Option& each : command.options)
    if (each.word == Word::recipe) find_in(each.name);
}

int run(const Command& command, const std::vector<std::string>& words, Session& session) {
  auto parsed = parse(command, words);
  if (std::holds_alternative<HelpWanted>(parsed)) {
    session.out << help(command, session.out_style);
    return Exit::done;
  }
  if (const auto* error = std::get_if<UsageError>(&parsed)) {
    Problem problem{error->message};
    if (!error->hint.empty()) problem.hints.push_back(error->hint);
    add_meant_setting(command, error->unknown_option, session.registry, problem);
    problem.hints.push_back("usage: " + usage(command));
    problem.see = "runner " + std::string(command.name) + " --help";
    return refuse(problem, session);
  }
  if (command.loads_plugins) {
    if (const auto exit = load_plugins(session)) return *exit;
  }
  try {
    Arguments& arguments = std::get<Arguments>(parsed);
    find_named_recipes(command, session, arguments);
    return command.run(arguments, session);
  } catch (const RecipeError& error) {
    session.err << render(diagnostic_of(error), session.err_style.colour);
    return Exit::bad_input;
  } catch (const InputError& error) {
    return refuse({shown_message(error.what())}, session);
  }
}

int show_help(const std::vector<std::string>& words, Session& session) {
  if (words.size() < 2) {
    session.out << help(session.out_style);
    return Exit::done;
  }
  const Command* command = find_command(words[1]);
  if (!command) return unknown_word(words[1], session);
  session.out << help(*command, session.out_style);
  return Exit::done;
}

}  // namespace

int dispatch(std::vector<std::string> words, Session& session) {
  if (const auto exit = take_plugin_options(words, session)) return *exit;
  if (!session.registry.conflicts().empty()) return report_conflicts(session);
  if (words.empty()) {
    session.err << help(session.err_style);
    return Exit::bad_input;
  }
  const std::string& first = words.front();
  if (first == "-h" || first == "--help" || first == "help") return show_help(words, session);
  if (first == "--version" || first == "-V") {
    session.out << "runner " << version_text << "\n";
    return Exit::done;
  }
  if (const Command* command = find_command(first)) {
    return run(*command, {words.begin() + 1, words.end()}, session);
  }
  // An existing path is taken for a recipe, whatever its name; if it is not one, reading it reports why.
  if (first == "-" || find_recipe(first, session.environment))
    return run(*find_command("run"), words, session);
  return unknown_word(first, session);
}

}  // namespace runner::cli
