#include "runner/toml/write.hpp"

#include <catch2/catch_all.hpp>

#include "registry/codec.hpp"
#include "registry/conform.hpp"
#include "tests/support/recipes.hpp"
#include "tests/support/sample_schema.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::parsed;

Value conformed(const Value& tree) {
  Diagnostics diagnostics;
  const Registry registry = sample::registry();
  Value result = conform(tree, schema_of<sample::Everything>(), registry, diagnostics);
  INFO(render(diagnostics));
  REQUIRE(diagnostics.ok());
  return result;
}

}  // namespace

TEST_CASE("write: plain values first, then sections and lists of tables", "[write]") {
  const Value tree = parsed(
      "t = {x = 1, inner = {y = 2}, items = [{a = 1}, {}]}\nplain = 'v'\nlist = [1, 2]\nmixed = [1, {a = "
      "1}]\nempty = {}\n"
      "only = {deep = {er = 1}}\nnone = []\n'odd key' = {z = 1}\n");
  CHECK(write_toml(tree) ==
        "plain = \"v\"\n"
        "list = [1, 2]\n"
        "mixed = [1, { a = 1 }]\n"
        "none = []\n"
        "\n[t]\n"
        "x = 1\n"
        "\n[t.inner]\n"
        "y = 2\n"
        "\n[[t.items]]\n"
        "a = 1\n"
        "\n[[t.items]]\n"
        "\n[empty]\n"
        "\n[only.deep]\n"
        "er = 1\n"
        "\n[\"odd key\"]\n"
        "z = 1\n");
  CHECK(same_data(parsed(write_toml(tree)), tree));
}

TEST_CASE("write: where each value came from", "[write]") {
  testing::Recipes recipes("title = 'x'\n[window]\nlow = 1\n");
  recipes.environment = {{"RUNNER_WINDOW__HIGH", "4"}};
  const Value tree = recipes.load({"count=7"});
  const std::string text = recipes.without_folder(write_toml(conformed(tree), {.origins = true}));
  CHECK_THAT(text, ContainsSubstring("count = 7  # argument count\n"));
  CHECK_THAT(text, ContainsSubstring("title = \"x\"  # main.toml:1:9\n"));
  CHECK_THAT(text, ContainsSubstring("ratio = 0.5  # default\n"));
  CHECK_THAT(text, ContainsSubstring("low = 1  # main.toml:3:7\n"));
  CHECK_THAT(text, ContainsSubstring("high = 4  # environment RUNNER_WINDOW__HIGH\n"));
  CHECK(same_data(parsed(text), parsed(write_toml(conformed(tree)))));
}

TEST_CASE("write: a secret is never written, nor is the argument that set it", "[write]") {
  testing::Recipes recipes("token = 'hush1'\n");
  const Value tree =
      recipes.load({"gadgets+={name='tuned', token='hush2'}", "gadget={name='tuned', token='hush3', lr=2}"});
  for (const bool origins : {false, true}) {
    const std::string text = write_toml(conformed(tree), {.origins = origins});
    CHECK_THAT(text, !ContainsSubstring("hush"));
    CHECK_THAT(text, ContainsSubstring("# token is a secret and not written\n"));
    CHECK(parsed(text).as<Table>()->find("token") == nullptr);
  }
  CHECK_THAT(write_toml(conformed(parsed(""))), !ContainsSubstring("token"));
}

TEST_CASE("write: text that looks like a reference is escaped", "[write]") {
  testing::Recipes recipes("title = '$${x}'\nlabels = {a = '${env:A}'}\n");
  recipes.environment = {{"A", "$${y} ${z}"}};
  const Value once = recipes.load();
  CHECK(testing::toml(once, "title") == "\"${x}\"");
  recipes.write("again.toml", write_toml(once));
  CHECK(same_data(recipes.load({}, "again.toml"), once));
}

TEST_CASE("write: comments cannot be broken out of", "[write]") {
  Table members;
  const auto source = std::make_shared<Source>(Source{Source::Kind::file, "a\nb = 2\n.toml", ""});
  members.append("a", Value(Value::Data(std::int64_t{1}), Origin{source, 1, 1, 1}), {});
  Value secret(Value::Data(std::int64_t{1}), Origin{source, 1, 1, 1});
  secret.secret = true;
  members.append("x\ny = 3", secret, {});
  const Value tree{Value::Data(members)};
  CHECK(to_toml(parsed(write_toml(tree, {.origins = true}))) == "{ a = 1 }");
}

}  // namespace runner
