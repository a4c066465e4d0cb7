#include "runner/cli/parse.hpp"

#include <algorithm>

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"

namespace runner::cli {

namespace {

class Parser {
 public:
  Parser(const Command& command, const std::vector<std::string>& words) : command_(command), words_(words) {}

  std::variant<Arguments, HelpWanted, UsageError> parse() {
    while (next_ < words_.size() && problem_.message.empty() && !help_) take(words_[next_++]);
    if (help_) return HelpWanted{};
    if (problem_.message.empty()) assign_positional();
    if (!problem_.message.empty()) return problem_;
    return std::move(arguments_);
  }

 private:
  void take(const std::string& word) {
    if (only_positional_ || word.size() < 2 || word.front() != '-') {
      positional_.push_back(word);
    } else if (word == "--") {
      only_positional_ = true;
    } else if (word == "--help" || word == "-h") {
      help_ = true;
    } else if (word.starts_with("--")) {
      const auto equals = word.find('=');
      const bool has_value = equals != std::string::npos;
      take_option(word.substr(0, equals), has_value, has_value ? word.substr(equals + 1) : "");
    } else {
      take_option(word.substr(0, 2), word.size() > 2, word.substr(2));
    }
  }

  void take_option(const std::string& spelled, bool has_value, std::string value) {
    const Option* option = find_option(command_, spelled);
    if (!option) {
      unknown(spelled);
      problem_.unknown_option = spelled;
      // "--lr 0.1" and "--lr=0.1" both mean a value.
      if (!has_value && next_ < words_.size() && !words_[next_].starts_with("-")) value = words_[next_];
      if (!value.empty()) problem_.unknown_option += "=" + value;
      return;
    }
    if (option->value.empty() && has_value) return fail(in_quotes(spelled) + " takes no value");
    if (!option->value.empty() && !has_value) {
      if (next_ == words_.size()) return fail(in_quotes(spelled) + " needs a value: " + option->value);
      value = words_[next_++];
    }
    std::vector<std::string>& given = arguments_.values[option->name];
    if (!option->many) given.clear();  // the last one counts
    given.push_back(std::move(value));
    arguments_.spellings[option->name] = spelled;
  }

  void assign_positional() {
    std::size_t next = 0;
    for (const Argument& argument : command_.arguments) {
      if (argument.needed() && next == positional_.size()) {
        return fail(std::string(argument.name) + " is missing", std::string(argument.doc));
      }
      while (next < positional_.size()) {
        if (positional_[next].empty() && cannot_be_empty(argument.word)) return fail_empty(argument);
        arguments_.values[std::string(argument.name)].push_back(positional_[next++]);
        if (!argument.many()) break;
      }
    }
    if (next < positional_.size()) {
      fail(in_quotes(command_.name) + " takes no argument " + in_quotes(positional_[next]));
    }
  }

  // A recipe and an override are never empty; an input of `runner predict` may be a sentence without words.
  static bool cannot_be_empty(Word word) {
    return word == Word::recipe || word == Word::override_ || word == Word::recipes_and_overrides;
  }
  void fail_empty(const Argument& argument) {
    const auto at = std::ranges::find(words_, "") - words_.begin() + 1;
    fail("argument " + std::to_string(at) + " of " + in_quotes(command_.name) + " is empty, but " +
             std::string(argument.name) + " was expected",
         "perhaps a shell variable is not set");
  }

  void unknown(const std::string& spelled) {
    std::vector<std::string> names{"--help"};
    for (const Option& option : command_.options) names.push_back("--" + option.name);
    for (const Option& option : common_options()) names.push_back("--" + option.name);
    // As a row of numbers or a sentence begins.
    const bool perhaps_argument =
        spelled.size() == 2 && std::string_view("0123456789. ").find(spelled[1]) != std::string_view::npos;
    fail(in_quotes(command_.name) + " has no option " + in_quotes(spelled),
         perhaps_argument ? "write -- before an argument that begins with -"
                          : did_you_mean(spelled, names).value_or(""));
  }

  void fail(std::string message, std::string hint = "") { problem_ = {std::move(message), std::move(hint)}; }

  const Command& command_;
  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
  bool only_positional_ = false;
  bool help_ = false;
  std::vector<std::string> positional_;
  Arguments arguments_;
  UsageError problem_;
};

}  // namespace

const std::vector<Option>& common_options() {
  static const std::vector<Option> options{
      {.name = "plugin",
       .doc = "A plugin that you trust, or a folder of plugins; may be given several times.",
       .value = "FILE",
       .word = Word::file}};
  return options;
}

const Option* find_option(const Command& command, std::string_view spelled) {
  for (const std::vector<Option>* options : {&command.options, &common_options()}) {
    const auto found = std::ranges::find_if(*options, [&](const Option& option) {
      return spelled == "--" + option.name || (option.letter && spelled == std::string{'-', option.letter});
    });
    if (found != options->end()) return &*found;
  }
  return nullptr;
}

std::variant<Arguments, HelpWanted, UsageError> parse(const Command& command,
                                                      const std::vector<std::string>& words) {
  return Parser(command, words).parse();
}

std::string Arguments::get(std::string_view name) const {
  const auto& found = all(name);
  return found.empty() ? "" : found.front();
}

std::string Arguments::spelling(std::string_view option) const {
  const auto found = spellings.find(option);
  return found == spellings.end() ? "--" + std::string(option) : found->second;
}

const std::vector<std::string>& Arguments::all(std::string_view name) const {
  static const std::vector<std::string> none;
  const auto found = values.find(name);
  return found == values.end() ? none : found->second;
}

}  // namespace runner::cli
