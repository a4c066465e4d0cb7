// Speed is measured in benchmarks/; what a step costs in operators is exact,
// and guarded here.
#include <ATen/ops/cross_entropy_loss.h>
#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/models/model.hpp"
#include "components/optimizers/groups.hpp"
#include "components/optimizers/optimizer.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/train/train_recipe.hpp"
#include "tests/support/operators.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/recipes.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

std::int64_t of_a_run(int steps) {
  Recipes recipes(R"(
[model]
name = "mlp"
hidden = [8, 8]
[dataset]
name = "synthetic"
shape = [12]
train = 640
[loader]
batch_size = 16
[optimizer]
name = "adam"
lr = 0.001
[train]
epochs = 10
log_every = "1000step"
[eval]
metric = []
)");
  Registry registry = Registry::of_linked();
  Diagnostics found;
  const auto resolved = resolve_recipe(
      {recipes.folder / "main.toml",
       {},
       {"run.dir=" + (recipes.folder / "run").string(), "train.max_steps=" + std::to_string(steps)}},
      registry, found);
  INFO(render(found));
  REQUIRE(resolved);
  return total(operators_of([&] {
    World alone;
    train_recipe(*resolved, registry, alone, {});
  }));
}

std::int64_t of_a_loop(int steps) {
  DataSpec spec;
  spec.input_shape = {12};
  spec.classes = 10;
  const auto model = part<ModelKind>("mlp", {{"hidden", Setting::list({8, 8})}}).build({spec});
  const auto optimizer =
      part<OptimizerKind>("adam", {{"lr", 0.001}}).build({make_groups(model->named_parameters(), {})});
  const Batch batch{torch::zeros({16, 12}), torch::zeros({16}, torch::kInt64)};
  return total(operators_of([&] {
    for (int step = 0; step < steps; ++step) {
      at::cross_entropy_loss(model->forward(batch), batch.target).backward();
      optimizer->step(1.0);
      for (auto& parameter : model->parameters()) parameter.mutable_grad().reset();
    }
  }));
}

}  // namespace

TEST_CASE(
    "train: a step executes the operators of a loop written by hand, and "
    "a few to weigh and add up the loss") {
  of_a_run(1);  // what happens once in a process has happened
  const auto ours = static_cast<double>(of_a_run(30) - of_a_run(10)) / 20;
  const auto bare = static_cast<double>(of_a_loop(30) - of_a_loop(10)) / 20;
  CAPTURE(ours, bare);
  CHECK(bare > 20);
  CHECK(ours <= bare + 8);
}
