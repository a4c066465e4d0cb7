// What ranks that shard a model hold while it is built, and where its values come from.
#include "runner/train/initial_model.hpp"

#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "components/models/weights/load_weights.hpp"
#include "runner/recipe/parts.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/train/run_start.hpp"
#include "runner/train/training_run.hpp"
#include "tests/support/decoded_recipe.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/tensor_memory.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t layer = 4 * (256 * 256 + 256), layers = 24, weights = layers * layer;

std::string recipe_text() {
  std::string hidden = "256";
  for (int i = 1; i < layers; ++i) hidden += ", 256";
  return "[model]\nname = \"mlp\"\nhidden = [" + hidden + "]\n" + R"(
[dataset]
name = "synthetic"
shape = [256]
train = 8
eval = 8
[loader]
batch_size = 2
[optimizer]
name = "sgd"
lr = 0.01
momentum = 0.0
[train]
max_steps = 2
[eval]
every = "never"
[checkpoint]
every = "2step"
[distributed]
strategy = "zero3"
unit_size = "300KiB"
)";
}

std::map<std::string, torch::Tensor> copies(const std::vector<NamedTensor>& tensors) {
  std::map<std::string, torch::Tensor> all;
  for (const auto& [name, tensor] : tensors) all[name] = tensor.detach().clone();
  return all;
}

void require_equal_bits(const std::map<std::string, torch::Tensor>& found,
                        const std::map<std::string, torch::Tensor>& expected) {
  REQUIRE(found.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    INFO(name);
    CHECK(torch::equal(found.at(name), tensor));
  }
}

struct Built {
  std::map<std::string, torch::Tensor> weights;  // of rank 0
  std::int64_t most_bytes = 0;                   // of any rank, while the run was built
};

// A run of these ranks as it is before its first update; with a checkpoint, after it has been restored.
Built built_on(int ranks, const Recipe& recipe, const std::optional<fs::path>& checkpoint = {}) {
  std::vector<TensorMemory*> memories;
  for (int rank = 0; rank < ranks; ++rank) memories.push_back(&CountedTensors::new_memory());
  const CountedTensors counted;
  Built built;
  on_ranks(ranks, [&](World& world) {
    TensorMemory& memory = *memories[static_cast<std::size_t>(world.rank())];
    const CountOnThisThread counting(memory);
    std::optional<EarlierPlan> earlier;
    if (checkpoint) earlier = ProgressState::plan_of(read_checkpoint(*checkpoint).states["progress"]);
    Run run(recipe, world, earlier);
    if (checkpoint) {
      Checkpoint read = read_checkpoint(*checkpoint);
      for (const char* const name : {"journal", "trackers"}) read.states.erase(name);
      restore_run(run, {*checkpoint, std::move(read)});
    }
    memory.set_limit(std::numeric_limits<std::int64_t>::max());
    const std::int64_t most = memory.most();
    auto all = run.engine.full_weights();
    if (world.is_main()) built.weights = copies(all);
    world.barrier("the end");
    if (world.is_main()) built.most_bytes = most;
  });
  return built;
}

}  // namespace

TEST_CASE("initial model: no rank holds all weights while a run is built or restored", "[zero3]") {
  const Recipes files(recipe_text());
  const int ranks = 4;
  // Its part, a unit and a tensor that is read into it, and a little that has nothing to do with the model.
  constexpr std::int64_t enough = weights / ranks + 3 * layer + (std::int64_t{256} << 10);
  const fs::path file = files.folder / "initial.safetensors";
  const DataSpec data{.input_shape = {256}, .classes = 10};
  const auto whole = build_model(decoded_recipe(files), data);
  std::vector<NamedTensor> named;
  for (const auto& item : whole->named_parameters())
    named.push_back({item.key(), item.value().detach() + 1});  // unlike what a seed initialises
  save_weights(named, file);
  const auto expected = copies(named);

  SECTION("initialised on rank 0") { CHECK(built_on(ranks, decoded_recipe(files)).most_bytes < enough); }
  SECTION("from a file, of which each rank reads its part") {
    const Built built = built_on(ranks, decoded_recipe(files, {"model.weights=" + file.string()}));
    CHECK(built.most_bytes < enough);
    require_equal_bits(built.weights, expected);
  }
  SECTION("from a file that has not everything, on rank 0") {
    const Built built = built_on(
        ranks, decoded_recipe(files, {"model.weights=" + file.string(), "model.replace=[\"fc2.*\"]"}));
    CHECK(built.most_bytes < enough);
    auto others = expected;
    auto found = built.weights;
    CHECK_FALSE(torch::equal(found.at("fc2.weight"), others.at("fc2.weight")));
    for (const char* const name : {"fc2.weight", "fc2.bias"}) {
      others.erase(name);
      found.erase(name);
    }
    require_equal_bits(found, others);
  }
  SECTION("from a checkpoint of another number of ranks") {
    const fs::path run = files.folder / "run";
    Registry registry = Registry::of_linked();
    Diagnostics problems;
    const auto resolved =
        resolve_recipe({files.folder / "main.toml", {}, {"run.dir=" + run.string()}}, registry, problems);
    REQUIRE(resolved);
    on_ranks(2, [&](World& world) { train_recipe(*resolved, registry, world, {.quiet = true}); });
    const fs::path checkpoint = run / "checkpoints/step-00000002";
    const Built built = built_on(ranks, decoded_recipe(files), checkpoint);
    CHECK(built.most_bytes < enough);
    require_equal_bits(built.weights, read_checkpoint(checkpoint).states.at("model").tensors);
  }
}

TEST_CASE("initial model: weights that do not fit are refused on every rank", "[zero3]") {
  const Recipes files(recipe_text());
  const fs::path file = files.folder / "other.safetensors";
  save_weights({{"nothing.of.this", torch::zeros({2})}}, file);
  const Recipe recipe = decoded_recipe(files, {"model.weights=" + file.string()});
  for (const auto& error : try_on_ranks(2, [&](World& world) { const Run run(recipe, world); }))
    CHECK_THAT(message_of(error), ContainsSubstring("do not fit the model"));
}
