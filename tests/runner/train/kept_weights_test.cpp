#include "runner/train/kept_weights.hpp"

#include <ATen/ops/conv2d.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "components/weights/safetensors.hpp"
#include "runner/train/evaluate.hpp"
#include "runner/train/feed.hpp"
#include "tests/support/decoded_recipe.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/wave.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* residual_net = R"(
[model]
name = "resnet20"
[dataset]
name = "synthetic"
shape = [3, 8, 8]
train = 24
eval = 8
[loader]
batch_size = 8
[optimizer]
name = "sgd"
lr = 0.1
[train]
max_steps = 4
[[eval.metric]]
name = "accuracy"
)";

std::map<std::string, torch::Tensor> everything(const Model& model) {
  std::map<std::string, torch::Tensor> all;
  for (const auto& item : model.named_parameters()) all[item.key()] = item.value().detach().clone();
  for (const auto& item : model.named_buffers()) all[item.key()] = item.value().detach().clone();
  return all;
}

bool same(const std::map<std::string, torch::Tensor>& one,
          const std::map<std::string, torch::Tensor>& other) {
  return std::ranges::equal(one, other, [](const auto& a, const auto& b) {
    return a.first == b.first && torch::equal(a.second, b.second);
  });
}

// The weights, the same on any number of ranks, with batch-norm statistics recomputed for them.
std::map<std::string, torch::Tensor> with_statistics(const Recipe& recipe, World& world) {
  Run run(recipe, world);
  {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : run.engine.model().parameters())
      parameter.copy_(wave(parameter.sizes().vec(), 0.3) + (parameter.dim() == 1 ? 1.5 : 0));
  }
  const KeptWeightsInPlace in_place(run, {"other", {}, 100});
  return everything(run.engine.model());
}

}  // namespace

TEST_CASE("other weights are in the model for a while, and then its own are again, bit for bit") {
  Recipes files(residual_net);
  const Recipe recipe = decoded_recipe(files, {});
  World alone;
  Run run(recipe, alone);
  const auto own = everything(run.engine.model());
  KeptWeights weights{"other", {{"fc.bias", torch::full({10}, 7.0)}}, 2};
  if (!own.contains("fc.bias")) weights.tensors = {{"linear.bias", torch::full({10}, 7.0)}};
  const std::string name = weights.tensors.begin()->first;
  {
    const KeptWeightsInPlace in_place(run, weights);
    CHECK(run.engine.model().named_parameters()[name].eq(7).all().item<bool>());
    CHECK_FALSE(
        torch::equal(run.engine.model().named_buffers()["bn1.running_mean"], own.at("bn1.running_mean")));
  }
  CHECK(same(everything(run.engine.model()), own));
}

TEST_CASE("batch-norm statistics are the plain average over the training batches") {
  Recipes files(residual_net);
  const Recipe recipe = decoded_recipe(files, {});
  World alone;
  Run run(recipe, alone);
  const torch::NoGradGuard no_grad;
  Loader loader(*run.data.train, training_options(recipe, run.engine));
  std::vector<torch::Tensor> means, variances;
  for (int i = 0; i < 3; ++i) {
    const auto& kernel = run.engine.model().named_parameters()["conv1.weight"];
    const torch::Tensor output = at::conv2d(loader.next()->batch.input, kernel, {}, 1, 1);
    means.push_back(output.mean(at::IntArrayRef{0, 2, 3}));
    variances.push_back(output.var(at::IntArrayRef{0, 2, 3}));
  }
  const KeptWeightsInPlace in_place(run, {"other", {}, 100});  // there are only three batches
  const auto buffers = run.engine.model().named_buffers();
  CHECK(torch::allclose(buffers["bn1.running_mean"], torch::stack(means).mean(0), 1e-4, 1e-5));
  CHECK(torch::allclose(buffers["bn1.running_var"], torch::stack(variances).mean(0), 1e-4, 1e-5));
  CHECK(buffers["bn1.num_batches_tracked"].item<std::int64_t>() == 3);
}

TEST_CASE("batch-norm statistics do not depend on the random numbers drawn before, in spite of dropout") {
  Recipes files(residual_net);
  const Recipe recipe =
      decoded_recipe(files, {R"(model={name="wide_resnet", depth=10, widen=1, dropout=0.5})"});
  World alone;
  Run run(recipe, alone);
  const auto recomputed_after = [&](std::uint64_t seed) {
    torch::manual_seed(seed);
    const KeptWeightsInPlace in_place(run, {"other", {}, 2});
    return everything(run.engine.model());
  };
  CHECK(same(recomputed_after(1), recomputed_after(2)));
}

TEST_CASE("batch-norm statistics of a reproducible run have the same bits on any number of ranks",
          "[ranks]") {
  Recipes files(residual_net);
  const Recipe recipe = decoded_recipe(
      files, {"distributed.reproducible=true", "distributed.batch=global", "loader.batch_size=7"});
  torch::set_num_threads(1);  // as the ranks have
  World alone;
  const auto one = with_statistics(recipe, alone);
  on_ranks(2, [&](World& world) { require(same(with_statistics(recipe, world), one), "the same bits"); });
}

TEST_CASE("synchronised batch-norm statistics are those of one rank with whole batches", "[ranks]") {
  Recipes files(residual_net);
  // Of the last batch, which has two examples, one of three ranks gets none.
  const Recipe recipe = decoded_recipe(
      files, {"distributed.sync_batch_norm=true", "distributed.batch=global", "loader.batch_size=11"});
  World alone;
  const auto one = with_statistics(recipe, alone);
  on_ranks(3, [&](World& world) {
    for (const auto& [name, tensor] : with_statistics(recipe, world))
      require(torch::allclose(tensor.to(torch::kDouble), one.at(name).to(torch::kDouble), 1e-3, 1e-4), name);
  });
}

TEST_CASE("what hooks keep is measured under their names, and saved by name") {
  Recipes files(residual_net);
  const Recipe recipe = decoded_recipe(files, {"hook+=ema", "hook+={name=\"swa\"}"});
  World alone;
  Run run(recipe, alone);
  const Evaluation found = evaluate_all(run, {}, [](double) { return true; });
  std::vector<std::string> names;
  for (const auto& [name, value] : found.measurements) names.push_back(name);
  CHECK(names == std::vector<std::string>{"eval/accuracy", "ema/accuracy"});  // swa has not begun
  {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : run.engine.model().parameters()) parameter.zero_();
  }
  save_run_weights(run, "ema", files.folder / "ema.safetensors");
  save_run_weights(run, "eval", files.folder / "model.safetensors");
  CHECK(read_safetensors(files.folder / "ema.safetensors").at("conv1.weight").abs().sum().item<double>() > 0);
  CHECK(read_safetensors(files.folder / "model.safetensors").at("conv1.weight").abs().sum().item<double>() ==
        0);
}

TEST_CASE("an evaluation that was broken off ends without recomputing statistics for kept weights") {
  Recipes files(residual_net);
  const Recipe recipe = decoded_recipe(files, {});
  World alone;
  Run run(recipe, alone);
  // Weights whose shape does not fit: putting them into the model throws.
  class Keeper final : public Hook {
   public:
    const KeptWeights* kept_weights() const override { return &kept_; }

   private:
    KeptWeights kept_{"other", {{"conv1.weight", torch::zeros({1, 2, 3})}}, 2};  // does not fit
  };
  run.hooks.push_back(std::make_unique<Keeper>());
  CHECK(evaluate_all(run, {}, [](double) { return false; }).broken_off);
  CHECK_THROWS(evaluate_all(run, {}, [](double) { return true; }));  // here they are put into the model
}

TEST_CASE("the best model may be one that a hook keeps, and only if a hook keeps one") {
  Recipes files(residual_net);
  const auto with = [&](const std::string& metric, std::vector<std::string> more) {
    more.push_back("checkpoint.best={metric=\"" + metric + "\"}");
    const Recipe recipe = decoded_recipe(files, more);
    World alone;
    return Run(recipe, alone).best->weights();
  };
  CHECK(with("ema/accuracy", {"hook+=ema"}) == "ema");
  CHECK(with("eval/accuracy", {"hook+=ema"}) == "eval");
  CHECK_THROWS_WITH(with("ema/accuracy", {}), ContainsSubstring("which no metric reports"));
  CHECK_THROWS_WITH(with("ema/loss", {"hook+=ema"}), ContainsSubstring("which no metric reports"));
  CHECK_THROWS_WITH(with("nan_guard/accuracy", {"hook+=nan_guard"}),
                    ContainsSubstring("which no metric reports"));
  CHECK_THROWS_WITH(with("ema/accuracy", {"hook+=ema", "hook+=ema"}),
                    ContainsSubstring("keeps weights named"));
}
