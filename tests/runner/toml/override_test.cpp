#include "runner/toml/override.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/recipes.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::at;
using testing::Recipes;

constexpr const char* recipe =
    "[optimizer]\nname = 'sgd'\nlr = 0.1\n[run]\nseed = 1\n[[tracker]]\nname = 'csv'\n[[tracker]]\nname = "
    "'jsonl'\n"
    "[loss]\nname = 'mse'\n[model]\nhidden = [1, 2]\nscale = 2\n";

std::string after(std::vector<std::string> overrides, const std::string& path = "") {
  Recipes recipes(recipe);
  const Value tree = recipes.load(std::move(overrides));
  if (!recipes.said.empty()) return recipes.said;
  return testing::toml(tree, path);
}

std::string complaint(const std::string& argument) { return Recipes(recipe).complaint({argument}); }

}  // namespace

TEST_CASE("override: sets any key, there already or not", "[override]") {
  CHECK(after({"optimizer.lr=0.01"}, "optimizer") == "{ name = \"sgd\", lr = 0.01 }");
  CHECK(after({"optimizer.momentum=1"}, "optimizer.momentum") == "1");
  CHECK(after({"train.deep.new.key=1"}, "train") == "{ deep = { new = { key = 1 } } }");
  CHECK(after({"a=1", "a=2"}, "a") == "2");
  CHECK(after({"run.\"odd.key\"=1"}, "run").find("\"odd.key\" = 1") != std::string::npos);
  CHECK(after({"run.'odd=key'=1"}, "run").find("\"odd=key\" = 1") != std::string::npos);
}

TEST_CASE("override: a bare name swaps the part and keeps the rest", "[override]") {
  CHECK(after({"optimizer=adamw"}, "optimizer") == "{ name = \"adamw\", lr = 0.1 }");
  CHECK(after({"optimizer={name='adamw', eps=1}"}, "optimizer") == "{ name = \"adamw\", lr = 0.1, eps = 1 }");
  CHECK(after({"scheduler=cosine", "scheduler.warmup='1ep'"}, "scheduler") ==
        "{ name = \"cosine\", warmup = \"1ep\" }");
  CHECK(after({"tracker.0=console"}, "tracker.0") == "{ name = \"console\" }");
}

TEST_CASE("override: values are TOML, bare words are strings", "[override]") {
  const auto value = [](const std::string& text) { return after({"x=" + text}, "x"); };
  CHECK(value("1") == "1");
  CHECK(value("-1.5e3") == "-1500.0");
  CHECK(value("true") == "true");
  CHECK(value("True") == "\"True\"");
  CHECK(value("word") == "\"word\"");
  CHECK(value("two words") == "\"two words\"");
  CHECK(value("\"x=y\"") == "\"x=y\"");
  CHECK(value("x=y") == "\"x=y\"");
  CHECK(value("'a\\b'") == "\"a\\\\b\"");
  CHECK(value("[1, 2]") == "[1, 2]");
  CHECK(value("{a = [1, {b = 2}]}") == "{ a = [1, { b = 2 }] }");
  CHECK(value("") == "\"\"");
  CHECK(value("  ") == "\"  \"");
  CHECK(value(" 1 ") == "1");
  CHECK(value("007") == "\"007\"");
  CHECK(value("1 # not a comment") == "\"1 # not a comment\"");
  CHECK(value("'a # b'") == "\"a # b\"");
  CHECK(value("/a/b.c") == "\"/a/b.c\"");
  CHECK(value("5ep") == "\"5ep\"");
  CHECK(value("1\n[run]\nseed=2") == "\"1\\n[run]\\nseed=2\"");  // no way to slip in another key
  CHECK(value("1\ny=2") == "\"1\\ny=2\"");
  CHECK(value("\"\"\"a\nb\"\"\"") == "\"a\\nb\"");
  CHECK(value("gr\xC3\xBC\xC3\x9F") == "\"gr\xC3\xBC\xC3\x9F\"");
  // A shell takes quotes away: words in lists and tables need none.
  CHECK(value("[accuracy, loss]") == "[\"accuracy\", \"loss\"]");
  CHECK(value("{metric=eval/accuracy, mode=max}") == "{ metric = \"eval/accuracy\", mode = \"max\" }");
  CHECK(value("{a.b = 1, a.'c d' = 2}") == "{ a = { b = 1, \"c d\" = 2 } }");
  CHECK(value("[1, 2,]") == "[1, 2]");
  CHECK(value("[]") == "[]");
  CHECK(value("{}") == "{}");
}

TEST_CASE("override: scalars are those of TOML", "[override]") {
  // The parser of recipe files is the judge: what it takes as a value means the same here, anything else is
  // text.
  for (const char* word : {"0",
                           "-0",
                           "+7",
                           "1_000",
                           "1__0",
                           "_1",
                           "1_",
                           "0x1F",
                           "0xG",
                           "0o17",
                           "0b101",
                           "-0x1",
                           "007",
                           "1.",
                           ".5",
                           "1.5",
                           "-2.5e3",
                           "1e3",
                           "1E+3",
                           "1e",
                           "6.02_2",
                           "inf",
                           "-inf",
                           "+nan",
                           "nan",
                           "NaN",
                           "true",
                           "TRUE",
                           "1-2",
                           "9223372036854775807",
                           "9223372036854775808",
                           "1e400",
                           "00.5",
                           "1.e3",
                           "0.0",
                           "1e06",
                           "1e-3+1",
                           "1e5+5",
                           "1e+-3",
                           "1e++3"}) {
    INFO(word);
    const std::string here = after({std::string("x=") + word}, "x");
    Recipes file(std::string("x = ") + word);
    const Value tree = file.load();
    const bool taken = file.said.empty();
    CHECK(here == (taken ? testing::toml(tree, "x") : "\"" + std::string(word) + "\""));
  }
}

TEST_CASE("override: what was typed is kept beside what it means", "[override]") {
  Recipes recipes(recipe);
  const Value tree = recipes.load({"run.name=0x10", "run.tag=2026-01-01", "run.dir=\"a\""});
  CHECK(testing::toml(tree, "run.name") == "16");
  CHECK(at(tree, "run.name").typed == "0x10");
  CHECK(at(tree, "run.tag").typed == "2026-01-01");
  CHECK(testing::toml(tree, "run.dir") == "\"a\"");
}

TEST_CASE("override: lists", "[override]") {
  CHECK(after({"tracker+={name='console'}"}, "tracker") ==
        "[{ name = \"csv\" }, { name = \"jsonl\" }, { name = \"console\" }]");
  CHECK(after({"tracker+=console"}, "tracker.2") == "\"console\"");
  CHECK(after({"hook+=stop", "hook+=guard"}, "hook") == "[\"stop\", \"guard\"]");
  CHECK(after({"tracker.1.dir=x"}, "tracker.1") == "{ name = \"jsonl\", dir = \"x\" }");
  CHECK(after({"model.hidden.0=9"}, "model.hidden") == "[9, 2]");
  CHECK(after({"hook+=stop", "hook.0.patience=3"}, "hook.0") == "{ name = \"stop\", patience = 3 }");
}

TEST_CASE("override: a list left out is changed from its default", "[override]") {
  Recipes recipes(recipe);
  recipes.default_of = [](const Value&, std::string_view path) -> std::optional<Value> {
    if (path != "model.widths") return std::nullopt;
    return testing::list({testing::number(4), testing::number(5)});
  };
  CHECK(testing::toml(recipes.load({"model.widths+=6"}), "model.widths") == "[4, 5, 6]");
  CHECK(testing::toml(recipes.load({"model.widths.1=7"}), "model.widths") == "[4, 7]");
  CHECK_THAT(recipes.complaint({"model.widths.2=7"}), ContainsSubstring("the list model.widths has 2 items"));
  CHECK(testing::toml(recipes.load({"model.widths=[1]"}), "model.widths") == "[1]");
}

TEST_CASE("override: a list is changed from its default if its sections are missing, too", "[override]") {
  Recipes recipes("model = 'mlp'\n");
  recipes.default_of = [](const Value&, std::string_view path) -> std::optional<Value> {
    if (path == "eval") return testing::table({{"every", testing::text("1ep")}});
    if (path != "eval.metric" && path != "model.widths" && path != "a.b.c") return std::nullopt;
    return testing::list({testing::text("loss")});
  };
  const auto after = [&](const std::string& override_, const std::string& path) {
    return testing::toml(recipes.load({override_}), path);
  };
  CHECK(after("eval.metric+=accuracy", "eval") == "{ metric = [\"loss\", \"accuracy\"] }");
  CHECK(after("eval.metric.0=accuracy", "eval") == "{ metric = [\"accuracy\"] }");
  CHECK(after("eval.metric.0.k=5", "eval.metric") == "[{ name = \"loss\", k = 5 }]");
  CHECK(after("eval.metric=[accuracy]", "eval") == "{ metric = [\"accuracy\"] }");
  CHECK(after("eval.other+=1", "eval") == "{ other = [1] }");
  CHECK(after("a.b.c+=x", "a") == "{ b = { c = [\"loss\", \"x\"] } }");
  CHECK(after("model.widths+=x", "model") == "{ name = \"mlp\", widths = [\"loss\", \"x\"] }");
  CHECK_THAT(recipes.complaint({"eval.metric.1=x"}), ContainsSubstring("the list eval.metric has 1 item"));
}

TEST_CASE("override: deletes", "[override]") {
  CHECK(after({"~run"}).find("run") == std::string::npos);
  CHECK(after({"~optimizer.lr"}, "optimizer") == "{ name = \"sgd\" }");
  CHECK(after({"~tracker.0"}, "tracker") == "[{ name = \"jsonl\" }]");
  CHECK(after({"~tracker", "tracker+=console"}, "tracker") == "[\"console\"]");
}

TEST_CASE("override: origins point into the argument", "[override]") {
  Recipes recipes(recipe);
  const Value tree = recipes.load({"optimizer.betas=[0.9, {x = 'y'}]"});
  const Origin& inner = at(tree, "optimizer.betas.1.x").origin;
  CHECK(to_string(inner) == "argument optimizer.betas");
  CHECK(inner.column == 28);
  CHECK(inner.length == 3);
  CHECK(at(tree, "optimizer").as<Table>()->member("betas")->key_origin.column == 11);
  CHECK(at(tree, "optimizer.betas").origin.layer > at(tree, "optimizer.lr").origin.layer);
  CHECK(at(tree, "optimizer").origin.source->kind == Source::Kind::file);
}

TEST_CASE("override: arguments share one layer", "[override]") {
  Recipes recipes(recipe);
  const Value tree = recipes.load({"a=1", "b=1"});
  CHECK(at(tree, "a").origin.layer == at(tree, "b").origin.layer);
}

TEST_CASE("override: mistakes are pointed at", "[override]") {
  CHECK(complaint("+optimizer.lr=1") ==
        "command line: error: a leading + is not needed: any key that the schema knows can be set\n"
        "      | +optimizer.lr=1\n"
        "      | ^\n"
        "  write optimizer.lr=..\n");
  CHECK_THAT(complaint("++optimizer.lr=1"), ContainsSubstring("      | ^^\n  write optimizer.lr=..\n"));
  CHECK(complaint("=x") ==
        "command line: error: there is no key\n"
        "      | =x\n"
        "      | ^\n"
        "  write key=value, as in optimizer.lr=0.01\n");
  CHECK_THAT(complaint("+=x"), ContainsSubstring("error"));
  CHECK_THAT(complaint("word"),
             ContainsSubstring("this sets nothing") && ContainsSubstring("key+=value (for a list)"));
  CHECK_THAT(complaint(""), ContainsSubstring("this sets nothing"));
  CHECK_THAT(complaint("~"), ContainsSubstring("there is no key"));
  CHECK_THAT(complaint("~run=1"),
             ContainsSubstring("~ deletes a key and takes no value") && ContainsSubstring("|     ^^\n"));
  CHECK_THAT(complaint("a..b=1"),
             ContainsSubstring("a part of the key is missing here") && ContainsSubstring("|   ^\n"));
  CHECK_THAT(complaint(".a=1"), ContainsSubstring("a part of the key is missing here"));
  CHECK_THAT(complaint("a.=1"), ContainsSubstring("a part of the key is missing here"));
  CHECK_THAT(complaint("a b=1"),
             ContainsSubstring("a key is made of letters, digits, _ and -") && ContainsSubstring("|  ^\n"));
  CHECK_THAT(complaint("\"a.b=1"), ContainsSubstring("this sets nothing"));
  CHECK_THAT(complaint("'a'b=1"), ContainsSubstring("other text needs quotes"));
  CHECK_THAT(complaint("a=[1, w=x]"), ContainsSubstring("cannot read the value") &&
                                          ContainsSubstring("|       ^^^\n") &&
                                          ContainsSubstring("put the whole argument in single quotes"));
  CHECK_THAT(complaint("a=[1, 2"),
             ContainsSubstring("the bracket is not closed") && ContainsSubstring("|   ^\n"));
  CHECK_THAT(complaint("a=[1 2]"), !ContainsSubstring("error"));  // one word with a space in it
  CHECK_THAT(complaint("a=[1,,2]"), ContainsSubstring("a value is missing"));
  CHECK_THAT(complaint("a={b}"), ContainsSubstring("a table holds key = value"));
  CHECK_THAT(complaint("a={b=1, b=2}"), ContainsSubstring("duplicate key"));
  CHECK_THAT(complaint("a=\"x\" y"), ContainsSubstring("there is more after the value"));
  CHECK_THAT(complaint("a=\"\\q\""), ContainsSubstring("an unknown escape"));
  CHECK_THAT(complaint("a=\"\\uD800\""), ContainsSubstring("not a character"));
  CHECK_THAT(complaint("a=\"open"), ContainsSubstring("cannot read the value"));
  CHECK_THAT(complaint("a=\xFF"), ContainsSubstring("the value is not valid UTF-8"));
  CHECK_THAT(complaint("a=" + std::string(20'000, '[')), ContainsSubstring("nested more than 100 levels"));
  CHECK_THAT(complaint("\"\xFF\".a=1"), ContainsSubstring("the key is not valid UTF-8"));
  CHECK_THAT(complaint("extends=x"), ContainsSubstring("can only be set in a recipe file"));
  std::string long_key = "a";
  for (int i = 0; i < 10'000; ++i) long_key += ".a";
  CHECK_THAT(complaint(long_key + "=1"), ContainsSubstring("too many parts"));
}

TEST_CASE("override: what the recipe does not have cannot be changed or deleted", "[override]") {
  CHECK(complaint("tracker.2.dir=x") ==
        "command line: error: there is no tracker.2: the list tracker has 2 items\n"
        "      | tracker.2.dir=x\n"
        "      |         ^\n"
        "  the first one is tracker.0, the last one tracker.1\n"
        "  to add one: tracker+=..\n");
  CHECK_THAT(complaint("tracker.-1.dir=x"), ContainsSubstring("there is no tracker.-1"));
  CHECK_THAT(complaint("tracker.name=x"), ContainsSubstring("there is no tracker.name"));
  CHECK_THAT(complaint("tracker.99999999999999999999=x"), ContainsSubstring("there is no tracker.9999"));
  CHECK_THAT(complaint("model.scale.x=1"),
             ContainsSubstring("model.scale is an integer, so nothing can be set inside it"));
  CHECK_THAT(complaint("run.seed+=1"),
             ContainsSubstring("run.seed is an integer, not a list: += can only add to a list") &&
                 ContainsSubstring("to replace it: run.seed=.."));
  CHECK_THAT(complaint("run+=1"), ContainsSubstring("run is a table, not a list"));
  CHECK_THAT(complaint("~optimizer.lt"),
             ContainsSubstring("the recipe does not set optimizer.lt, so there is nothing to delete") &&
                 ContainsSubstring("did you mean ~optimizer.lr?"));
  CHECK_THAT(complaint("~optimiser.lr"), ContainsSubstring("did you mean ~optimizer?"));
  CHECK_THAT(complaint("~tracker.7"), ContainsSubstring("the list tracker has 2 items"));
  CHECK_THAT(complaint("~loss.name.x"), ContainsSubstring("does not set loss.name.x"));
}

TEST_CASE("override: all mistakes at once, with those of the file", "[override]") {
  const std::string said = Recipes("a = oops").complaint({"=1", "+b=2"});
  CHECK_THAT(said, ContainsSubstring("not valid TOML") && ContainsSubstring("there is no key") &&
                       ContainsSubstring("leading +"));
}

TEST_CASE("override: a secret on the command line is not shown back", "[override]") {
  CHECK_THAT(complaint("tracker.7.token=hush"),
             ContainsSubstring("there is no tracker.7") && !ContainsSubstring("hush"));
  CHECK_THAT(complaint("tracker.0.token=[hush]"), !ContainsSubstring("hush"));
  CHECK_THAT(complaint("+tracker.0.token=hush"),
             ContainsSubstring("write tracker.0.token=..") && !ContainsSubstring("hush"));
}

}  // namespace runner
