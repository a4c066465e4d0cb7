#include "runner/cli/help.hpp"

#include <catch2/catch_all.hpp>
#include <sstream>

#include "runner/cli/commands.hpp"
#include "runner/cli/parse.hpp"
#include "tests/runner/cli/program.hpp"

namespace runner::cli {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::Program;

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; stream >> word && word != ">";) words.push_back(word);
  return words;
}

TEST_CASE("every command explains itself, with examples", "[cli]") {
  const Program program;
  for (const Command& command : commands()) {
    INFO(command.name);
    const auto asked = program.run({std::string(command.name), "--help"});
    CHECK(asked.code == 0);
    CHECK(asked.err.empty());
    CHECK_THAT(asked.out, ContainsSubstring(usage(command)));
    for (const Option& option : command.options) CHECK_THAT(asked.out, ContainsSubstring("--" + option.name));
    CHECK(program.run({"help", std::string(command.name)}).out == asked.out);
    if (command.hidden) continue;
    CHECK_FALSE(command.examples.empty());
    CHECK_THAT(program.run({"--help"}).out, ContainsSubstring(std::string(command.name)));
  }
}

TEST_CASE("the examples in the help are command lines that parse", "[cli]") {
  for (const Command& command : commands()) {
    for (const Example& example : command.examples) {
      INFO(example.command);
      std::vector<std::string> words = words_of(example.command);
      if (words.front() != "runner") continue;  // the line of a shell's own
      const bool is_bare = words.at(1).find('/') != std::string::npos;
      words.erase(words.begin(), words.begin() + (is_bare ? 1 : 2));
      CHECK(std::holds_alternative<Arguments>(parse(is_bare ? *find_command("run") : command, words)));
    }
  }
}

TEST_CASE("the components that examples speak of exist", "[cli]") {
  const Program program;
  for (const Command& command : commands()) {
    for (const Example& example : command.examples) {
      const auto words = words_of(example.command);
      if (words.size() < 2 || (words[1] != "describe" && words[1] != "list")) continue;
      INFO(example.command);
      CHECK(program.run({words.begin() + 1, words.end()}).code == 0);
    }
  }
}

TEST_CASE("no line of the help is too wide for a terminal", "[cli]") {
  const Program program;
  std::vector<std::string> texts{program.run({"--help"}).out};
  for (const Command& command : commands()) texts.push_back(help(command, {}));
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(line.size() <= 120);
    }
  }
}

}  // namespace
}  // namespace runner::cli
