#include "runner/resolve/resolve.hpp"

#include <catch2/catch_all.hpp>

#include "runner/recipe/recipe.hpp"
#include "runner/toml/write.hpp"
#include "tests/support/recipes.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

Recipe written_in_code() {
  Recipe recipe;
  recipe.run.seed = 7;
  recipe.model = Part<ModelKind>("mlp", {{"hidden", PartSetting::list({8, 4})}});
  recipe.model.common.freeze = {"*.bias"};
  recipe.dataset = Part<DatasetKind>("synthetic", {{"train", 40}, {"eval", 20}});
  recipe.optimizer = Part<OptimizerKind>("sgd", {{"lr", 0.1}});
  recipe.train.max_steps = 2;
  return recipe;
}

}  // namespace

TEST_CASE("a recipe written in C++ is what the same file says", "[resolve]") {
  Registry registry = Registry::of_linked();
  Diagnostics found;
  const auto from_code = resolve_recipe(written_in_code(), registry, found);
  INFO(render(found));
  REQUIRE(from_code);

  testing::Recipes files(R"(
run.seed = 7
model = { name = "mlp", hidden = [8, 4], freeze = ["*.bias"] }
dataset = { name = "synthetic", train = 40, eval = 20 }
optimizer = { name = "sgd", lr = 0.1 }
train.max_steps = 2
)");
  const auto from_file = resolve_recipe({files.folder / "main.toml"}, registry, found);
  REQUIRE(from_file);
  CHECK(write_toml(*from_code) == write_toml(*from_file));

  // Decoded and encoded again, nothing is lost.
  const Recipe decoded = decode_table<Recipe>(*from_code, registry);
  const auto again = resolve_recipe(decoded, registry, found);
  REQUIRE(again);
  CHECK(write_toml(*again) == write_toml(*from_code));
}

TEST_CASE("a mistake in a recipe written in C++ is found", "[resolve]") {
  Registry registry = Registry::of_linked();
  Diagnostics found;
  Recipe recipe = written_in_code();
  recipe.model = Part<ModelKind>("mlp", {{"hiden", 8}});
  CHECK_FALSE(resolve_recipe(recipe, registry, found));
  CHECK_THAT(render(found), ContainsSubstring("did you mean \"hidden\"?"));
}

TEST_CASE("two trackers of one name may not write the same files", "[resolve]") {
  Registry registry = Registry::of_linked();
  const auto complaint = [&](const std::string& trackers) {
    testing::Recipes files(R"(
model = { name = "mlp" }
dataset = { name = "synthetic" }
optimizer = { name = "sgd" }
train.max_steps = 2
tracker = [)" + trackers + "]\n");
    Diagnostics found;
    resolve_recipe({files.folder / "main.toml"}, registry, found);
    return render(found);
  };
  const auto same_files = ContainsSubstring("would write the same files as an earlier");
  CHECK_THAT(complaint(R"({name="wandb", project="a"}, {name="wandb", project="b"})"), same_files);
  CHECK_THAT(complaint(R"({name="csv"}, {name="csv", file="metrics.csv"})"), same_files);
  CHECK_THAT(complaint(R"({name="console"}, {name="console"})"),
             ContainsSubstring("is \"console\" with the same settings as an earlier one: delete one"));
  CHECK_THAT(complaint(R"({name="wandb"}, {name="wandb", logging_dir="other"})"),
             !ContainsSubstring("error"));
  CHECK_THAT(complaint(R"({name="csv"}, {name="csv", file="other.csv"})"), !ContainsSubstring("error"));
}

TEST_CASE("plugins of a recipe written in C++ are looked for, anywhere", "[resolve][plugins]") {
  Registry registry = Registry::of_linked();
  Diagnostics found;
  Recipe recipe = written_in_code();
  recipe.plugins = {"/nowhere/libmine.so"};
  CHECK_FALSE(resolve_recipe(recipe, registry, found));
  CHECK_THAT(render(found), ContainsSubstring("there is no plugin \"/nowhere/libmine.so\""));
}

// Saved recipes name the first version of a built-in component without a number, so it has to be registered
// without one for all time.
TEST_CASE("what a saved recipe calls a built-in component leads back to it", "[resolve]") {
  const Registry registry = Registry::of_linked();
  for (const KindInfo* kind : registry.kinds()) {
    for (const Descriptor* component : registry.of_kind(kind->name)) {
      INFO(kind->name << " " << component->name);
      CHECK(registry.find(kind->name, pinned_name(*component)) == component);
      CHECK_FALSE(component->name.ends_with("@1"));
    }
  }
}

}  // namespace runner
