#include "runner/toml/reference.hpp"

#include <catch2/catch_all.hpp>

#include "runner/toml/resolve_references.hpp"
#include "tests/support/recipes.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::at;
using testing::Recipes;

std::string value(const std::string& recipe, const std::string& path,
                  std::map<std::string, std::string> environment = {}) {
  Recipes recipes(recipe);
  recipes.environment = std::move(environment);
  const Value tree = recipes.load();
  return recipes.said.empty() ? testing::toml(tree, path) : recipes.said;
}

}  // namespace

TEST_CASE("reference: alone it keeps the type, inside a text it becomes text", "[reference]") {
  const std::string recipe =
      "n = 3\nf = 0.001\nb = true\ns = 'x'\nl = [1, 2]\nt = {a = 1}\n[r]\nn = '${n}'\nf = '${f}'\nb = "
      "'${b}'\ns = '${s}'\n"
      "l = '${l}'\nt = '${t}'\nmix = 'a-${n}-${f}-${b}-${s}'\nitem = '${l.1}'\ninner = '${t.a}'\nin_list = "
      "['${n}', {x = '${s}'}]\n";
  CHECK(value(recipe, "r") ==
        "{ n = 3, f = 0.001, b = true, s = \"x\", l = [1, 2], t = { a = 1 }, mix = \"a-3-0.001-true-x\", "
        "item = 2, "
        "inner = 1, in_list = [3, { x = \"x\" }] }");
}

TEST_CASE("reference: to references, forwards and backwards", "[reference]") {
  CHECK(value("a = '${b}'\nb = '${c.d}'\nc = '${e}'\ne = {d = 5}", "a") == "5");
  CHECK(value("a = 'x${b}'\nb = 'y${c}'\nc = 'z'", "a") == "\"xyz\"");
  CHECK(value("[a]\nb = 1\nc = '${a.b}'", "a.c") == "1");
  CHECK(value("o = 'sgd'\nx = '${o.name}'", "x") == "\"sgd\"");
  CHECK(value("'odd key' = 1\nx = '${\"odd key\"}'", "x") == "1");
}

TEST_CASE("reference: environment", "[reference]") {
  CHECK(value("a = '${env:HOME}/data'", "a", {{"HOME", "/root"}}) == "\"/root/data\"");
  CHECK(value("a = '${env:N}'", "a", {{"N", "5"}}) == "5");
  CHECK(value("a = '${env:N}'", "a", {{"N", "word"}}) == "\"word\"");
  CHECK(value("a = 'n${env:N}'", "a", {{"N", "0x10"}}) == "\"n0x10\"");
  CHECK(value("a = '${env:N:7}'", "a") == "7");
  CHECK(value("a = '${env:N:}'", "a") == "\"\"");
  CHECK(value("a = '${env:N:http://x:80}'", "a") == "\"http://x:80\"");
  CHECK(value("a = '${env:N:7}'", "a", {{"N", "8"}}) == "8");
  CHECK(value("a = '${env:N}'", "a", {{"N", "${b} $${"}}) ==
        "\"${b} $${\"");  // what a variable holds is no recipe text
  CHECK(value("a = '${env:N}'\nb = '${a}'", "b", {{"N", "${b}"}}) == "\"${b}\"");
  Recipes recipes("a = '${env:N}'");
  recipes.environment = {{"N", "0x10"}};
  CHECK(at(recipes.load(), "a").typed == "0x10");
}

// A recipe chooses the variable and its default, so nothing in it counts as typed by the user.
TEST_CASE("reference: what a variable holds is placed where the recipe names it", "[reference]") {
  const bool set = GENERATE(false, true);
  Recipes recipes(set ? "\na = '${env:N}'" : "\na = '${env:N:[x, [y]]}'");
  if (set) recipes.environment = {{"N", "[x, [y], {k = z}]"}};
  const Value tree = recipes.load();
  std::vector<Value> values{at(tree, "a"), at(tree, "a.0"), at(tree, "a.1.0")};
  if (set) values.push_back(at(tree, "a.2.k"));
  for (const Value& value : values) {
    REQUIRE(value.origin.source);
    CHECK(value.origin.source->kind == Source::Kind::file);
    CHECK(value.origin.line == 2);
    CHECK(value.from_environment == set);
  }
}

TEST_CASE("reference: a literal dollar and brace", "[reference]") {
  CHECK(value("a = '$${b}'", "a") == "\"${b}\"");
  CHECK(value("a = '$$${b}'", "a") == "\"$${b}\"");
  CHECK(value("a = '$ $5 $$ {x} }'", "a") == "\"$ $5 $$ {x} }\"");
  CHECK(value("a = '$${x}-${b}'\nb = 1", "a") == "\"${x}-1\"");
  CHECK(value("a = '$${x}'\nb = '${a}'\nc = '${b}'", "c") == "\"${x}\"");
  CHECK(value("a = {x = '$${y}'}\nb = '${a}'\nc = '${b.x}'", "c") == "\"${y}\"");
}

TEST_CASE("reference: escaping is undone by reading", "[reference]") {
  for (const char* text : {"", "$", "${", "$${", "$$${a}", "a${b}c$${d}", "$$$$${", "{$}${${"}) {
    const ReferenceText pieces = split_references(escape_references(text));
    INFO(text);
    CHECK(pieces.problem.empty());
    CHECK(pieces.plain());
    CHECK((pieces.all.empty() ? "" : pieces.all.front().text) == text);
  }
}

TEST_CASE("reference: keeps the place where it is written", "[reference]") {
  Recipes recipes("a = 1\nb = '${a}'\n");
  const Value tree = recipes.load({"c=${a}"});
  CHECK(at(tree, "b").origin.line == 2);
  CHECK(to_string(at(tree, "c").origin) == "argument c");
  CHECK(testing::toml(tree, "c") == "1");
}

TEST_CASE("reference: sees the environment and the command line", "[reference]") {
  Recipes recipes("a = 1\nb = '${a}'\n");
  CHECK(testing::toml(recipes.load({"a=2"}), "b") == "2");
  recipes.write("base.toml", "width = 1\ndepth = '${width}'\n")
      .write("main.toml", "extends = 'base.toml'\nwidth = 7\n");
  CHECK(testing::toml(recipes.load(), "depth") == "7");
}

TEST_CASE("reference: inside a text, a value is spelled as it was typed", "[reference]") {
  Recipes recipes("n = 1\ntext = 'v${n}'\nindirect = '${n}'\nsecond = 'v${indirect}'\n");
  for (const char* word : {"1.10", "0x10", "1_000", "1e-3", "007"}) {
    INFO(word);
    const Value tree = recipes.load({std::string("n=") + word});
    CHECK(testing::toml(tree, "text") == "\"v" + std::string(word) + "\"");
    CHECK(testing::toml(tree, "second") == "\"v" + std::string(word) + "\"");
  }
  recipes.environment = {{"N", "1.10"}};
  CHECK(testing::toml(recipes.load({"n=${env:N}"}), "text") == "\"v1.10\"");
}

TEST_CASE("reference: a key left out has its default", "[reference]") {
  Recipes recipes("[optimizer]\nname = 'sgd'\n[x]\ny = '${optimizer.lr}'\nz = '${optimizer.lt}'\n");
  std::string asked;
  recipes.default_of = [&](const Value& tree, std::string_view path) -> std::optional<Value> {
    asked += std::string(path) + "/" + testing::toml(tree, "optimizer.name") + " ";
    if (path == "optimizer.lr") return Value(Value::Data(0.1));
    return std::nullopt;
  };
  CHECK_THAT(recipes.complaint(), ContainsSubstring("${optimizer.lt} refers to something that is not set"));
  CHECK(asked == "optimizer.lr/\"sgd\" optimizer.lt/\"sgd\" ");
  const Value tree = recipes.load({"~x.z"});
  CHECK(testing::toml(tree, "x.y") == "0.1");
  CHECK(at(tree, "x.y").origin.line == 4);
}

TEST_CASE("reference: the default of a component whose name is a reference", "[reference]") {
  Recipes recipes("[x]\ny = '${optimizer.lr}'\n[optimizer]\nname = '${kind}'\n[z]\n");
  recipes.default_of = [&](const Value& tree, std::string_view path) -> std::optional<Value> {
    const bool known = path == "optimizer.lr" && testing::toml(tree, "optimizer.name") == "\"sgd\"";
    return known ? std::optional(Value(Value::Data(0.1))) : std::nullopt;
  };
  CHECK(testing::toml(recipes.load({"kind=sgd"}), "x.y") == "0.1");
  CHECK_THAT(recipes.complaint({"optimizer.name=${optimizer.kind}", "~x"}),
             ContainsSubstring("${optimizer.kind} refers to something that is not set"));
}

TEST_CASE("reference: mistakes are pointed at", "[reference]") {
  CHECK(value("[model]\nhidden = 1\n[x]\ny = 'width ${modle.hidden}'\n", "x") ==
        "main.toml:4:12: error: ${modle.hidden} refers to something that is not set\n"
        "    4 | y = 'width ${modle.hidden}'\n"
        "      |            ^^^^^^^^^^^^^^^\n"
        "  did you mean ${model.hidden}?\n");
  CHECK_THAT(value("a = '${b.3}'\nb = [1]", "a"), ContainsSubstring("b has 1 item, counted from 0"));
  CHECK_THAT(value("a = '${env:NOPE}'", "a"), ContainsSubstring("the environment variable NOPE is not set") &&
                                                  ContainsSubstring("give a default: ${env:NOPE:default}"));
  CHECK_THAT(value("a = '${env:}'", "a"), ContainsSubstring("${env:} names no variable"));
  CHECK_THAT(value("a = '${'", "a"),
             ContainsSubstring("\"${\" is never closed") && ContainsSubstring("\"$${\""));
  CHECK_THAT(value("a = '${}'", "a"),
             ContainsSubstring("${} is not a reference: a part of the key is missing"));
  CHECK_THAT(value("a = '${b c}'", "a"), ContainsSubstring("is not a reference: a key is made of letters"));
  CHECK_THAT(value("a = '${env:X:${b}}'", "a"), ContainsSubstring("references cannot be nested"));
  CHECK_THAT(value("a = 'x${b}'\nb = [1]", "a"),
             ContainsSubstring("${b} is a list, which cannot be part of a text"));
  CHECK_THAT(value("a = '${env:X}'", "a", {{"X", "[hush"}}),
             ContainsSubstring("the environment variable X cannot be read as a value") &&
                 !ContainsSubstring("hush"));
}

TEST_CASE("reference: circles are found and named, once", "[reference]") {
  const std::string said = value("a = '${b}'\nb = 'x${c}'\nc = '${a}'\nd = '${a}'", "a");
  CHECK_THAT(said, ContainsSubstring("references lead in a circle: ${b} -> ${c} -> ${a} -> ${b}"));
  CHECK(said.find("error", said.find("error") + 1) == std::string::npos);
  CHECK_THAT(value("a = '${a}'", "a"), ContainsSubstring("in a circle: ${a} -> ${a}"));
  CHECK_THAT(value("a = {b = ['${a}']}", "a"), ContainsSubstring("in a circle"));
  CHECK_THAT(value("a = '${b.x}'\nb = '${a}'", "a"), ContainsSubstring("in a circle"));
}

TEST_CASE("reference: what would explode is refused", "[reference]") {
  std::string doubling = "a0 = '" + std::string(100, 'x') + "'\n", tree = "a0 = [1]\n", nest = "a0 = [1]\n",
              chain = "a1000 = 1\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "${a" + std::to_string(i - 1) + "}";
    doubling += "a" + std::to_string(i) + " = '" + before + before + "'\n";
    tree += "a" + std::to_string(i) + " = ['" + before + "', '" + before + "']\n";
  }
  for (int i = 1; i < 2000; ++i)
    nest += "a" + std::to_string(i) + " = ['${a" + std::to_string(i - 1) + "}']\n";
  for (int i = 999; i >= 0; --i)
    chain = "a" + std::to_string(i) + " = '${a" + std::to_string(i + 1) + "}'\n" + chain;
  CHECK_THAT(value(doubling, "a0"), ContainsSubstring("make the recipe larger than 16 MB"));
  CHECK_THAT(value(tree, "a0"), ContainsSubstring("make the recipe larger than 16 MB"));
  CHECK_THAT(value(nest, "a0"), ContainsSubstring("nest lists or tables too deeply"));
  CHECK_THAT(value(chain, "a0"), ContainsSubstring("references lead to references more than 32 times over"));
}

}  // namespace runner
