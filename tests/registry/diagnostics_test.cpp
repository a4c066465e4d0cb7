#include "registry/diagnostics.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/trees.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using testing::file;

std::string rendered(Origin origin, std::string message = "wrong") {
  return render(Diagnostic{Diagnostic::Severity::error, std::move(origin), std::move(message), {}, ""});
}

}  // namespace

TEST_CASE("diagnostics: place, message, line, caret, hints, command", "[diagnostics]") {
  const auto source = file("recipes/a.toml", "[optimizer]\nname = \"sgd\"\nmomentun = 0.9\n");
  Diagnostics diagnostics;
  diagnostics.error({source, 3, 1, 8}, "optimizer \"sgd\" has no parameter \"momentun\"",
                    {"did you mean \"momentum\"?  (number, 0 to 1, default 0.9)"},
                    "runner describe optimizer sgd");
  CHECK(render(diagnostics) ==
        "recipes/a.toml:3:1: error: optimizer \"sgd\" has no parameter \"momentun\"\n"
        "    3 | momentun = 0.9\n"
        "      | ^^^^^^^^\n"
        "  did you mean \"momentum\"?  (number, 0 to 1, default 0.9)\n"
        "  see: runner describe optimizer sgd\n");
  CHECK_FALSE(diagnostics.ok());
}

TEST_CASE("diagnostics: an argument, a variable, and no place at all", "[diagnostics]") {
  const auto argument = std::make_shared<Source>(Source{Source::Kind::argument, "a.b", "a.b=1"});
  CHECK(rendered({argument, 1, 5, 1}) == "command line: error: wrong\n      | a.b=1\n      |     ^\n");
  const auto variable =
      std::make_shared<Source>(Source{Source::Kind::environment, "RUNNER_A__B", "RUNNER_A__B=1"});
  CHECK_THAT(rendered({variable, 1, 13, 1}),
             ContainsSubstring("environment: error: wrong\n      | RUNNER_A__B=1\n"));
  CHECK(rendered({}) == "recipe: error: wrong\n");
  CHECK(rendered({file("a.toml", "x = 1")}) == "a.toml: error: wrong\n");
}

TEST_CASE("diagnostics: origins in words", "[diagnostics]") {
  const auto argument = std::make_shared<Source>(Source{Source::Kind::argument, "a.token", "a.token=hush"});
  CHECK(to_string(Origin{argument, 1, 9, 4}) == "argument a.token");
  CHECK(to_string(Origin{file("a.toml", ""), 4, 2}) == "a.toml:4:2");
  CHECK(to_string(Origin{}) == "default");
}

TEST_CASE("diagnostics: carets stand under the text, whatever the text is", "[diagnostics]") {
  // Columns count bytes, carets count characters.
  CHECK(rendered({file("a", "n\xC3\xA4me = 1"), 1, 9, 1}) ==
        "a:1:9: error: wrong\n    1 | n\xC3\xA4me = 1\n      |        ^\n");
  CHECK(rendered({file("a", "\tx = 1"), 1, 2, 1}) == "a:1:2: error: wrong\n    1 |  x = 1\n      |  ^\n");
  CHECK(rendered({file("a", "x = 1\r\n"), 1, 5, 9}) == "a:1:5: error: wrong\n    1 | x = 1\n      |     ^\n");
  CHECK(rendered({file("a", "x ="), 1, 4, 0}) == "a:1:4: error: wrong\n    1 | x =\n      |    ^\n");
  CHECK(rendered({file("a", "\x1B[2J = 1"), 1, 1, 4}) ==
        "a:1:1: error: wrong\n    1 | ?[2J = 1\n      | ^^^^\n");
  CHECK(rendered({file("a", "x"), 1, 4000, 4000}) == "a:1:4000: error: wrong\n    1 | x\n      |  ^\n");
  CHECK(rendered({file("a", "x"), 9, 1, 1}) == "a:9:1: error: wrong\n");
  CHECK(rendered({file("a", "\x80\x80\x80"), 1, 2, 1}) != "");
}

TEST_CASE("diagnostics: a long line is shown around the place", "[diagnostics]") {
  const std::string line = std::string(1000, 'a') + "HERE" + std::string(1000, 'b');
  const std::string out = rendered({file("a", line), 1, 1001, 4});
  CHECK_THAT(out, ContainsSubstring("aHEREb"));
  CHECK(out.size() < 500);
  const auto start = out.find("HERE") - out.find("| a");
  CHECK(out.find("^^^^") - out.rfind("| ") == start);
  const std::string wide = [] {
    std::string characters;
    for (int i = 0; i < 1000; ++i) characters += "\xE2\x82\xAC";
    return characters;
  }();
  for (std::uint32_t column : {1U, 2U, 3U, 1500U, 1501U, 1502U, 3000U}) {
    CHECK_THAT(rendered({file("a", wide), 1, column, 7}), !ContainsSubstring("?"));
  }
}

TEST_CASE("diagnostics: a flood is cut", "[diagnostics]") {
  Diagnostics diagnostics;
  for (int i = 0; i < 150; ++i) diagnostics.error({}, "wrong");
  CHECK_THAT(render(diagnostics), EndsWith(".. and 50 more\n"));
}

TEST_CASE("diagnostics: a warning is not an error", "[diagnostics]") {
  Diagnostics diagnostics;
  diagnostics.warning({}, "old");
  CHECK(diagnostics.ok());
  CHECK(diagnostics.warnings() == 1);
  CHECK(diagnostics.first_error().empty());
  CHECK(render(diagnostics) == "recipe: warning: old\n");
  CHECK_THAT(render(diagnostics, true), ContainsSubstring("\033[1;33mwarning: \033[0m"));
  diagnostics.error({}, "wrong");
  diagnostics.error({}, "wrong, too");
  CHECK(diagnostics.first_error() == "wrong");
}

TEST_CASE("diagnostics: a message cannot smuggle terminal commands", "[diagnostics]") {
  const std::string out = render(
      Diagnostic{Diagnostic::Severity::error, Origin{file("a\x1B[2J", "")}, "b\x1B[2J", {"c\x1B[2J"}, ""});
  CHECK_THAT(out, !ContainsSubstring("\x1B"));
}

TEST_CASE("diagnostics: a report points at the field, or at the table of a field left out", "[diagnostics]") {
  const auto source = file("a.toml", "[optimizer]\nlr = 1\n");
  Value lr(Value::Data(1.0), Origin{source, 2, 6, 1});
  Table members;
  members.append("lr", lr, Origin{source, 2, 1, 2});
  members.append("momentum", Value(Value::Data(0.0)), {});
  const Value table(Value::Data(members), Origin{source, 1, 1, 11});
  Diagnostics diagnostics;
  Report report(diagnostics, table, "optimizer \"sgd\"", "runner describe optimizer sgd");
  report.error("lr", "is odd");
  report.warning("momentum", "is missing");
  CHECK(diagnostics.all()[0].message == "optimizer \"sgd\": \"lr\" is odd");
  CHECK(diagnostics.all()[0].origin.line == 2);
  CHECK(diagnostics.all()[1].origin.line == 1);
  CHECK(diagnostics.errors() == 1);
}

}  // namespace runner
