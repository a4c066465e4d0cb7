#include "runner/cli/parse.hpp"

#include <catch2/catch_all.hpp>

namespace runner::cli {
namespace {

using Words = std::vector<std::string>;

Command sample() {
  return {.name = "sample",
          .summary = "",
          .arguments = {{"FIRST", "What comes first."}, {"REST", "", Argument::Count::any}},
          .options = {{.name = "json", .doc = ""},
                      {.name = "output", .doc = "", .value = "FILE", .letter = 'o'}}};
}

Arguments parsed(Words words) { return std::get<Arguments>(parse(sample(), std::move(words))); }
UsageError refused(Words words) { return std::get<UsageError>(parse(sample(), std::move(words))); }

TEST_CASE("words go to arguments in order, options may stand anywhere", "[cli]") {
  const Arguments arguments = parsed({"a", "--json", "b", "-o", "file", "c"});
  CHECK(arguments.get("FIRST") == "a");
  CHECK(arguments.all("REST") == Words{"b", "c"});
  CHECK(arguments.has("json"));
  CHECK(arguments.get("output") == "file");
  CHECK_FALSE(parsed({"a"}).has("json"));
}

TEST_CASE("overrides pass unchanged, whatever they hold", "[cli]") {
  const Words overrides{"a.b=1",   "~c",   "list+=[1, 2]", "t+={name=\"csv\"}", "x=-1", "s=\"a=b\"",
                        "d=[1,2]", "e={}", "[x]",          "lr=1e-3",           "n=",   "p=/tmp/a b"};
  Words words{"recipe.toml"};
  words.insert(words.end(), overrides.begin(), overrides.end());
  CHECK(parsed(words).all("REST") == overrides);
}

TEST_CASE("values of options may be joined to them", "[cli]") {
  CHECK(parsed({"a", "--output=x=y"}).get("output") == "x=y");
  CHECK(parsed({"a", "-ofile"}).get("output") == "file");
}

TEST_CASE("after two dashes nothing is an option", "[cli]") {
  CHECK(parsed({"--", "--json", "-x", ""}).all("REST") == Words{"-x", ""});
  CHECK(parsed({"--", "--json"}).get("FIRST") == "--json");
}

TEST_CASE("an option is named as it was typed", "[cli]") {
  CHECK(parsed({"a", "-ofile"}).spelling("output") == "-o");
  CHECK(parsed({"a", "--output=file"}).spelling("output") == "--output");
  CHECK(parsed({"a"}).spelling("output") == "--output");
}

TEST_CASE("a recipe or an override that is empty is named, an input may be empty", "[cli]") {
  Command command = sample();
  command.arguments[1].word = Word::override_;
  const auto refused = parse(command, {"a", "b=1", ""});
  CHECK(std::get<UsageError>(refused).message == "argument 3 of \"sample\" is empty, but REST was expected");
  CHECK(parsed({"a", ""}).all("REST") == Words{""});
}

TEST_CASE("help is wanted wherever it is asked for", "[cli]") {
  CHECK(std::holds_alternative<HelpWanted>(parse(sample(), {"--help"})));
  CHECK(std::holds_alternative<HelpWanted>(parse(sample(), {"a", "b", "-h"})));
}

TEST_CASE("what is wrong is said in the words that were typed", "[cli]") {
  CHECK(refused({}).message == "FIRST is missing");
  CHECK(refused({}).hint == "What comes first.");
  CHECK(refused({"a", "--jsn"}).message == "\"sample\" has no option \"--jsn\"");
  CHECK(refused({"a", "--jsn"}).hint == "did you mean \"--json\"?");
  CHECK(refused({"a", "--json=1"}).message == "\"--json\" takes no value");
  CHECK(refused({"a", "--outptu=x"}).hint == "did you mean \"--output\"?");
  CHECK(refused({"-1,2"}).hint == "write -- before an argument that begins with -");
  CHECK(refused({"- not good"}).hint == "write -- before an argument that begins with -");
  CHECK(refused({"a", "--output"}).message == "\"--output\" needs a value: FILE");
  const Command bare{.name = "bare", .summary = ""};
  CHECK(std::get<UsageError>(parse(bare, {"x"})).message == "\"bare\" takes no argument \"x\"");
}

}  // namespace
}  // namespace runner::cli
