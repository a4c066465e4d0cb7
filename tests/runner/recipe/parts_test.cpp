#include "runner/recipe/parts.hpp"

#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "tests/support/decoded_recipe.hpp"
#include "tests/support/files.hpp"

using namespace runner;
using testing::decoded_recipe;

namespace {

constexpr const char* small = R"(
[model]
name = "mlp"
hidden = [3]
[dataset]
name = "synthetic"
shape = [4]
train = 40
eval = 20
[loader]
batch_size = 2
[optimizer]
name = "sgd"
[train]
max_steps = 1
)";

torch::Tensor first_weight(const Model& model) { return model.named_parameters()["fc1.weight"]; }

}  // namespace

TEST_CASE("parts: the engine gets what the recipe says") {
  const testing::Recipes files(small);
  const Recipe plain = decoded_recipe(files);
  CHECK_FALSE(engine_options(plain).clip_norm);
  CHECK(engine_options(decoded_recipe(files, {"train.cuda_graphs=true"})).graphs);
  const Recipe recipe = decoded_recipe(
      files, {"run.device=cpu", "train.clip_norm=2.5", "train.clip_value=0.5", "train.on_out_of_memory=split",
              "precision=bf16", "distributed.bucket_size=\"1MiB\""});
  const EngineOptions options = engine_options(recipe);
  CHECK(options.device == "cpu");
  CHECK(options.clip_norm == 2.5);
  CHECK(options.clip_value == 0.5);
  CHECK(options.on_out_of_memory == OnOutOfMemory::split);
  CHECK(options.distributed.bucket_size == recipe.distributed.bucket_size);
}

TEST_CASE("parts: a model is initialised by the seed of the run alone") {
  const testing::Recipes files(small);
  const auto weight = [&](const std::string& seed) {
    const Recipe recipe = decoded_recipe(files, {"run.seed=" + seed});
    torch::rand({7});  // whatever was drawn before
    return first_weight(*build_bare_model(recipe, build_dataset(recipe)->spec())).detach().clone();
  };
  CHECK(torch::equal(weight("3"), weight("3")));
  CHECK_FALSE(torch::equal(weight("3"), weight("4")));
}

TEST_CASE("parts: a built model is frozen where the recipe says so, a bare one is not") {
  const testing::Recipes files(small);
  const Recipe recipe = decoded_recipe(files, {"model.freeze=[\"fc1.*\"]"});
  const DataSpec data = build_dataset(recipe)->spec();
  CHECK(first_weight(*build_bare_model(recipe, data)).requires_grad());
  const auto model = build_model(recipe, data);
  CHECK_FALSE(first_weight(*model).requires_grad());
  CHECK(model->named_parameters()["fc2.weight"].requires_grad());
}

TEST_CASE("parts: the data is that of the dataset, or the examples of a few updates") {
  const testing::Recipes files(small);
  const Splits whole = open_data(decoded_recipe(files));
  CHECK(whole.train->size() == 40);
  CHECK(whole.eval->size() == 20);
  const Splits few =
      open_data(decoded_recipe(files, {"loader.overfit_batches=2", "train.accumulation_steps=3"}));
  CHECK(few.train->size() == 40);        // over and over, for as long as an epoch
  CHECK(few.eval->size() == 2 * 2 * 3);  // batches of two, three to an update, two updates
  CHECK(open_data(decoded_recipe(files, {"dataset.train_limit=5"})).train->size() == 5);
}

TEST_CASE("parts: a run is evaluated on its own classes alone") {
  const testing::Recipes files(R"(
[model]
name = "mlp"
[dataset]
name = "csv"
train = "rows.csv"
eval = "rows.csv"
target = "y"
[optimizer]
name = "sgd"
[train]
max_steps = 1
)");
  testing::write_file(files.folder / "rows.csv", "x,y\n1,no\n2,yes\n");
  const Recipe recipe = decoded_recipe(files);
  CHECK_NOTHROW(open_data(recipe, {.classes = {"no", "yes"}}));
  CHECK_THROWS_WITH(open_data(recipe, {.classes = {"maybe", "no"}}),
                    Catch::Matchers::ContainsSubstring(
                        "The data has the classes no, yes, but the run was trained with maybe, no."));
}
