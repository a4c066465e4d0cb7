#include "runner/toml/environment.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/recipes.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::at;
using testing::Recipes;

}  // namespace

TEST_CASE("environment: sets values above the file and below the command line", "[environment]") {
  Recipes recipes("[optimizer]\nlr = 0.1\nname = 'sgd'\n[[tracker]]\nname = 'csv'\n");
  recipes.environment = {{"RUNNER_OPTIMIZER__LR", "0.01"},
                         {"RUNNER_OPTIMIZER__NAME", "adamw"},
                         {"RUNNER_TRACKER__0__DIR", "/tmp/x"},
                         {"RUNNER_TRAIN__MAX_STEPS", "7"}};
  const Value tree = recipes.load({"optimizer.lr=0.5"});
  REQUIRE(recipes.said.empty());
  CHECK(testing::toml(tree, "optimizer") == "{ lr = 0.5, name = \"adamw\" }");
  CHECK(testing::toml(tree, "tracker.0") == "{ name = \"csv\", dir = \"/tmp/x\" }");
  CHECK(testing::toml(tree, "train.max_steps") == "7");
  CHECK(to_string(at(tree, "train.max_steps").origin) == "environment RUNNER_TRAIN__MAX_STEPS");
  CHECK(at(tree, "optimizer.name").origin.layer < at(tree, "optimizer.lr").origin.layer);
  CHECK(at(tree, "optimizer.name").origin.layer > at(tree, "tracker").origin.layer);
}

TEST_CASE("environment: a list is changed from its default if its section is missing, too", "[environment]") {
  Recipes recipes("a = 1\n");
  recipes.default_of = [](const Value&, std::string_view path) -> std::optional<Value> {
    if (path != "eval.metric") return std::nullopt;
    return testing::list({testing::text("loss"), testing::text("f1")});
  };
  recipes.environment = {{"RUNNER_EVAL__METRIC__0", "accuracy"}};
  CHECK(testing::toml(recipes.load(), "eval.metric") == "[\"accuracy\", \"f1\"]");
}

TEST_CASE("environment: other variables are none of ours", "[environment]") {
  Recipes recipes("a = 1\n");
  recipes.environment = {
      {"RUNNER_TEMP", "/tmp"}, {"RUNNER_", "x"}, {"PATH", "/bin"}, {"OTHER__LR", "1"}, {"runner_a__b", "1"}};
  CHECK(to_toml(recipes.load()) == "{ a = 1 }");
}

TEST_CASE("environment: mistakes name the variable", "[environment]") {
  Recipes recipes("[[tracker]]\nname = 'csv'\n");
  recipes.environment = {{"RUNNER_OPTIMIZER__", "1"}};
  CHECK(recipes.complaint() ==
        "environment: error: the variable's name does not spell a key\n"
        "      | RUNNER_OPTIMIZER__=1\n"
        "      | ^^^^^^^^^^^^^^^^^^\n"
        "  RUNNER_OPTIMIZER__LR sets optimizer.lr; two underscores stand for the dot\n");
  for (const char* name : {"RUNNER___A", "RUNNER_A____B", "RUNNER_A__B C", "RUNNER_A__\xFF"}) {
    recipes.environment = {{name, "1"}};
    CHECK_THAT(recipes.complaint(), ContainsSubstring("does not spell a key"));
  }
  recipes.environment = {{"RUNNER_TRACKER__3__DIR", "x"}};
  CHECK_THAT(recipes.complaint(),
             ContainsSubstring("there is no tracker.3") && ContainsSubstring("|                 ^\n"));
  recipes.environment = {{"RUNNER_A__B", "[1, oops"}};
  CHECK_THAT(recipes.complaint(), ContainsSubstring("environment: error: cannot read the value"));
  recipes.environment = {{"RUNNER_A__B", "\xFF"}};
  CHECK_THAT(recipes.complaint(), ContainsSubstring("not valid UTF-8"));
  recipes.environment = {{"RUNNER_TRACKER__3__TOKEN", "hush"}};
  CHECK_THAT(recipes.complaint(), !ContainsSubstring("hush"));
}

}  // namespace runner
