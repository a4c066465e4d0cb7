#include "runner/cli/help.hpp"

#include <algorithm>
#include <utility>

#include "runner/cli/commands.hpp"
#include "runner/cli/parse.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string spelling(const Argument& argument) {
  const std::string name(argument.name);
  if (argument.word == Word::recipes_and_overrides) return name + ".. [OVERRIDE..]";
  switch (argument.count) {
    case Argument::Count::one: return name;
    case Argument::Count::at_least_one: return name + "..";
    case Argument::Count::optional: return "[" + name + "]";
    case Argument::Count::any: return "[" + name + "..]";
  }
  return name;
}

std::string section(std::string_view title, const Rows& rows, const Style& style) {
  return rows.empty() ? "" : "\n" + style.bold(title) + "\n" + two_columns(rows);
}

std::string examples_section(const std::vector<Example>& examples, const Style& style) {
  Rows rows;
  for (const Example& example : examples) {
    rows.emplace_back(style.cyan(example.command), std::string(example.doc));
  }
  return section("Examples", rows, style);
}

}  // namespace

std::string spelling(const Option& option) {
  return (option.letter ? std::string{'-', option.letter, ',', ' '} : "") + "--" + option.name +
         (option.value.empty() ? "" : " " + option.value);
}

std::string usage(const Command& command) {
  std::string out = "runner " + std::string(command.name);
  if (!command.options.empty()) out += " [options]";
  for (const Argument& argument : command.arguments) out += " " + spelling(argument);
  return out;
}

Rows override_forms() {
  return {{"optimizer.lr=0.01", "sets any key the recipe may have; values are TOML, a bare word is a string"},
          {"optimizer=adamw", "another component; settings that both have are kept"},
          {"tracker+=csv", "adds to a list"},
          {"tracker.0.logging_dir=logs", "sets a key of the first entry of a list"},
          {"~scheduler", "removes it from the recipe"}};
}

std::string help(const Command& command, const Style& style) {
  std::string out =
      std::string(command.summary) + "\n\n" + style.bold("Usage") + "\n  " + usage(command) + "\n";
  Rows arguments, options;
  for (const Argument& argument : command.arguments) {
    arguments.emplace_back(std::string(argument.name), std::string(argument.doc));
  }
  for (const Option& option : command.options) options.emplace_back(spelling(option), option.doc);
  for (const Option& option : common_options()) options.emplace_back(spelling(option), option.doc);
  options.emplace_back("-h, --help", "This text.");
  out += section("Arguments", arguments, style) + section("Options", options, style);
  if (!command.details.empty()) out.append("\n").append(command.details).append("\n");
  return out + examples_section(command.examples, style);
}

std::string help(const Style& style) {
  std::string out = "runner " RUNNER_VERSION ": declarative training recipes on LibTorch.\n\n" +
                    style.bold("Usage") + "\n  runner RECIPE [OVERRIDE..]\n  runner COMMAND ..\n";
  const std::size_t longest_name = std::ranges::max(commands(), {}, [](const Command& command) {
                                     return command.name.size();
                                   }).name.size();
  for (const CommandGroup& group : command_groups()) {
    Rows rows;
    for (const Command& command : group.commands) {
      if (command.hidden) continue;
      std::string name(command.name);
      name.resize(std::max(name.size(), longest_name), ' ');  // the groups' summaries stand in one column
      rows.emplace_back(std::move(name), std::string(command.summary));
    }
    out += section(group.title, rows, style);
  }
  out += section("Options",
                 {{"-h, --help", "This text; after a command, the help of that command."},
                  {"--version", "The version."}},
                 style);
  out += "\n" + style.bold("Overrides") + " change a recipe from the command line\n" +
         two_columns(override_forms());
  return out + examples_section(
                   {{"runner recipes/shapes.toml", "trains for a few seconds, on generated images of shapes"},
                    {"runner recipes/cifar10.toml train.epochs=1", "trains on CIFAR-10, for one epoch"},
                    {"runner check recipes/*.toml", "reports every mistake in the recipes"},
                    {"runner list model", "lists the models"},
                    {"runner describe model resnet18", "what each of its parameters means"},
                    {"runner new -o mine.toml", "writes a commented recipe to start from"}},
                   style);
}

}  // namespace runner::cli
