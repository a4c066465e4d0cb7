#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "registry/registry.hpp"
#include "runner/process/exit_codes.hpp"
#include "runner/terminal/style.hpp"

namespace runner::cli {

// The meaning of a word on the command line, for shell completion.
enum class Word {
  anything,
  recipe,
  recipes_and_overrides,
  override_,
  kind,
  component,
  template_,
  shell,
  command,
  file
};

struct Argument {
  enum class Count { one, optional, any, at_least_one };

  std::string_view name;  // "RECIPE", as the usage shows it
  std::string_view doc;
  Count count = Count::one;
  Word word = Word::anything;

  bool needed() const { return count == Count::one || count == Count::at_least_one; }
  bool many() const { return count == Count::any || count == Count::at_least_one; }
};

struct Option {
  std::string name;  // "json" for --json
  std::string doc;
  std::string value = {};  // "FILE" if it takes a value; empty: a switch
  char letter = 0;         // 'o' for -o
  Word word = Word::anything;
  std::string of_kind = {};  // for Word::component: which kind
  bool many = false;         // may be given several times; otherwise the last one counts
};

struct Example {
  std::string_view command;
  std::string_view doc;
};

// The words of a command line, assigned to the arguments and options that the command declares.
struct Arguments {
  std::map<std::string, std::vector<std::string>, std::less<>> values =
      {};                                                          // by the argument's or option's name
  std::map<std::string, std::string, std::less<>> spellings = {};  // of the options that were given: "-n"

  bool has(std::string_view name) const { return values.contains(name); }
  std::string get(std::string_view name) const;  // the first value; empty if there is none
  const std::vector<std::string>& all(std::string_view name) const;
  std::string spelling(std::string_view option) const;  // as it was typed, for messages: "-n" or "--ranks"
};

// Everything a command gets from its environment. It reads nothing else, so that tests can replace all of it.
struct Session {
  Registry registry;  // plugins add to it
  std::map<std::string, std::string> environment;
  std::ostream& out;
  std::ostream& err;
  Style out_style;
  Style err_style;
};

// A command, in one declaration: parsing, help and completion all read it.
struct Command {
  std::string_view name;
  std::string_view summary;
  std::vector<Argument> arguments = {};
  std::vector<Option> options = {};
  std::vector<Example> examples = {};
  int (*run)(const Arguments& arguments, Session& session) = nullptr;
  std::string_view details = {};
  bool hidden = false;
  bool loads_plugins = true;  // false: must work even if a plugin is incompatible, to help repair it
};

}  // namespace runner::cli
