#include "runner/toml/merge.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/recipes.hpp"

namespace runner {
namespace {

std::string merged(const std::string& base, const std::string& over) {
  Value tree = testing::parsed(base);
  merge_over(tree, testing::parsed(over));
  return to_toml(tree);
}

}  // namespace

TEST_CASE("merge: tables merge, everything else is replaced", "[merge]") {
  CHECK(merged("a = 1\nb = 2", "b = 3\nc = 4") == "{ a = 1, b = 3, c = 4 }");
  CHECK(merged("a = {x = {y = 1, z = 2}}", "a.x.y = 9") == "{ a = { x = { y = 9, z = 2 } } }");
  CHECK(merged("a = [1, 2]", "a = [3]") == "{ a = [3] }");
  CHECK(merged("[[a]]\nx = 1", "[[a]]\ny = 1") == "{ a = [{ y = 1 }] }");
  CHECK(merged("a = 1", "a = {b = 1}") == "{ a = { b = 1 } }");
  CHECK(merged("a = {b = 1}", "a = 1") == "{ a = 1 }");
  CHECK(merged("a = {b = 1}", "a = [1]") == "{ a = [1] }");
}

TEST_CASE("merge: a part may be written as its bare name", "[merge]") {
  CHECK(merged("o = {name = 'sgd', lr = 1}", "o = 'adamw'") == "{ o = { name = \"adamw\", lr = 1 } }");
  CHECK(merged("o = 'sgd'", "o = {lr = 1}") == "{ o = { name = \"sgd\", lr = 1 } }");
  CHECK(merged("o = 'sgd'", "o = {name = 'adamw', lr = 1}") == "{ o = { name = \"adamw\", lr = 1 } }");
  CHECK(merged("o = 'sgd'", "o = 'adamw'") == "{ o = \"adamw\" }");
  CHECK(merged("o = {lr = 1}", "o = 'adamw'") == "{ o = { lr = 1, name = \"adamw\" } }");
}

TEST_CASE("merge: naming the same part again is no new choice", "[merge]") {
  const auto layer_of_name = [](const std::string& over) {
    Value tree = testing::parsed("o = {name = 'sgd', lr = 1}"), later = testing::parsed(over);
    later.as<Table>()->find("o")->as<Table>()->find("name")->origin.layer = 5;
    merge_over(tree, std::move(later));
    return tree.as<Table>()->find("o")->as<Table>()->find("name")->origin.layer;
  };
  CHECK(layer_of_name("o = {name = 'sgd'}") == 0);
  CHECK(layer_of_name("o = {name = 'adamw'}") == 5);
}

TEST_CASE("merge: a reference is a string like any other", "[merge]") {
  CHECK(merged("o = {name = 'sgd', lr = 1}", "o = '${env:NAME}'") ==
        "{ o = { name = \"${env:NAME}\", lr = 1 } }");
  CHECK(merged("o = '${other}'", "o = {lr = 1}") == "{ o = { name = \"${other}\", lr = 1 } }");
}

TEST_CASE("merge: thousands of keys take no time", "[merge]") {
  std::string base, over;
  for (int i = 0; i < 50'000; ++i) base += "k" + std::to_string(i) + " = 1\n";
  for (int i = 0; i < 50'000; ++i) over += "k" + std::to_string(50'000 - i) + " = 2\n";
  Value tree = testing::parsed(base);
  merge_over(tree, testing::parsed(over));
  CHECK(tree.as<Table>()->size() == 50'001);
  CHECK(tree.as<Table>()->begin()->key == "k0");
}

}  // namespace runner
