#include "runner/cli/parse.hpp"

#include <CLI/CLI.hpp>

#include "registry/suggest.hpp"

namespace runner::cli {

namespace {

std::string spelling(const Option& option) {
  return (option.letter ? std::string{'-', option.letter, ','} : "") + "--" + option.name;
}

// A word that looks like an option, but that the command does not have.
UsageError unknown_option(const Command& command, std::string word) {
  word = word.substr(0, word.find('='));
  std::vector<std::string> names{"--help"};
  for (const Option& option : command.options) names.push_back("--" + option.name);
  UsageError error{"\"" + std::string(command.name) + "\" has no option \"" + word + "\""};
  if (const auto meant = nearest(word, names)) error.hint = "did you mean \"" + *meant + "\"?";
  return error;
}

UsageError unexpected(const Command& command, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.size() > 1 && word.front() == '-' && word != "--") return unknown_option(command, word);
  }
  return {"\"" + std::string(command.name) + "\" takes no argument \"" + words.front() + "\""};
}

UsageError missing(const Argument& argument) {
  return {std::string(argument.name) + " is missing", std::string(argument.doc)};
}

}  // namespace

std::variant<Arguments, HelpWanted, UsageError> parse(const Command& command,
                                                      std::vector<std::string> words) {
  CLI::App app;
  app.set_help_flag();  // ours, so that it looks the same everywhere
  bool help = false;
  app.add_flag("-h,--help", help);
  app.allow_extras();

  Arguments arguments;
  std::vector<std::pair<std::string, CLI::Option*>> known;
  for (const Option& option : command.options) {
    CLI::Option* added =
        option.value.empty() ? app.add_flag(spelling(option)) : app.add_option(spelling(option));
    if (!option.value.empty()) added->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    known.emplace_back(option.name, added);
  }
  std::vector<std::string> positional;
  app.add_option("words", positional)->expected(-1);
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return UsageError{error.what()};
  }
  if (help) return HelpWanted{};
  if (const auto extras = app.remaining(); !extras.empty()) return unexpected(command, extras);
  for (const auto& [name, option] : known) {
    if (option->count() > 0) arguments.values[name] = option->results();
  }

  std::size_t next = 0;
  for (const Argument& argument : command.arguments) {
    const bool many =
        argument.count == Argument::Count::any || argument.count == Argument::Count::at_least_one;
    const bool needed =
        argument.count == Argument::Count::one || argument.count == Argument::Count::at_least_one;
    if (needed && next == positional.size()) return missing(argument);
    while (next < positional.size()) {
      arguments.values[std::string(argument.name)].push_back(positional[next++]);
      if (!many) break;
    }
  }
  if (next < positional.size()) return unexpected(command, {positional[next]});
  return arguments;
}

std::string Arguments::get(std::string_view name) const {
  const auto& found = all(name);
  return found.empty() ? "" : found.front();
}

const std::vector<std::string>& Arguments::all(std::string_view name) const {
  static const std::vector<std::string> none;
  const auto found = values.find(name);
  return found == values.end() ? none : found->second;
}

}  // namespace runner::cli
