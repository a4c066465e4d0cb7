// A user's own training loop against what it replaces: plain LibTorch, and one rank.
#include "runner/accelerator/accelerator.hpp"

#include <torch/nn.h>
#include <torch/optim/adam.h>
#include <torch/optim/schedulers/step_lr.h>
#include <torch/optim/sgd.h>

#include <catch2/catch_all.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/runner/accelerator/small_training.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("accelerator: one process computes what plain LibTorch computes, to the last bit",
          "[accelerator]") {
  torch::nn::Linear plain = model_of_test(), model = model_of_test();
  torch::optim::Adam plain_adam(plain->parameters(), 0.01), adam(model->parameters(), 0.01);
  auto plain_loader = loader_of<Sequential>(20, 6);
  World alone;
  Accelerator accelerator(alone, {.device = "cpu"});
  auto [prepared, optimizer, loader] = accelerator.prepare(model, adam, loader_of<Sequential>(20, 6));
  CHECK(prepared.ptr() == model.ptr());
  CHECK(accelerator.unwrap(model).ptr() == model.ptr());
  for (auto& batch : *plain_loader) {
    plain_adam.zero_grad();
    loss_of(plain, batch).backward();
    torch::nn::utils::clip_grad_norm_(plain->parameters(), 0.1);
    plain_adam.step();
  }
  int batches = 0;
  for (auto& batch : loader) {
    optimizer.zero_grad();
    accelerator.backward(loss_of(model, batch));
    accelerator.clip_grad_norm_(model->parameters(), 0.1);
    optimizer.step();
    ++batches;
  }
  CHECK(batches == 4);
  CHECK(torch::equal(weights_of(*plain), weights_of(*model)));
}

TEST_CASE("accelerator: accumulated micro-batches, also the fewer at the end of an epoch", "[accelerator]") {
  // 5 batches of 4: a window of 3 and one of 2.
  const bool clear_first = GENERATE(false, true);
  torch::nn::Linear plain = model_of_test(), model = model_of_test();
  torch::optim::SGD plain_sgd(plain->parameters(), 0.1), sgd(model->parameters(), 0.1);
  auto plain_loader = loader_of<Sequential>(20, 4);
  std::vector<torch::Tensor> losses;
  const auto update = [&] {
    plain_sgd.zero_grad();
    torch::stack(losses).mean().backward();
    plain_sgd.step();
    losses.clear();
  };
  for (auto& batch : *plain_loader) {
    losses.push_back(loss_of(plain, batch));
    if (losses.size() == 3) update();
  }
  update();

  World alone;
  Accelerator accelerator(alone, {.accumulation_steps = 3, .device = "cpu"});
  auto [prepared, optimizer, loader] = accelerator.prepare(model, sgd, loader_of<Sequential>(20, 4));
  std::vector<bool> updated;
  for (auto& batch : loader) {
    const auto accumulating = accelerator.accumulate();
    if (clear_first) optimizer.zero_grad();
    accelerator.backward(loss_of(model, batch));
    CHECK(accelerator.clip_grad_norm_(model->parameters(), 1e6).defined() == accelerator.sync_gradients());
    optimizer.step();
    if (!clear_first) optimizer.zero_grad();
    updated.push_back(accelerator.sync_gradients());
  }
  CHECK(updated == std::vector{false, false, true, false, true});
  CHECK(torch::allclose(weights_of(*plain), weights_of(*model), 1e-6, 1e-7));
  CHECK_THROWS_WITH(accelerator.backward(model->weight.sum()), ContainsSubstring("within accumulate()"));
}

TEST_CASE("accelerator: a weight of the user's makes the mean over tokens exact", "[accelerator]") {
  torch::nn::Linear model = model_of_test();
  World alone;
  Accelerator accelerator(alone, {.accumulation_steps = 2, .device = "cpu"});
  accelerator.prepare(model);
  const torch::Tensor long_input = torch::ones({5, 3}), short_input = torch::full({1, 3}, 2.0f);
  for (const torch::Tensor& input : {long_input, short_input}) {
    const auto accumulating = accelerator.accumulate(6);
    accelerator.backward(model(input).sum());
  }
  const torch::Tensor expected = torch::cat({long_input, short_input}).mean(0);
  CHECK(torch::allclose(model->weight.grad().flatten(), expected));
}

TEST_CASE("accelerator: two losses before one update add up, on any number of ranks",
          "[accelerator][ranks]") {
  const int ranks = GENERATE(1, 2);
  torch::nn::Linear plain = model_of_test();
  const torch::Tensor first = torch::ones({2, 3}), second = torch::full({2, 3}, 3.0f);
  (plain(first).mean() + plain(second).mean()).backward();
  on_ranks(ranks, [&](World& world) {
    torch::nn::Linear model = model_of_test();
    torch::optim::SGD sgd(model->parameters(), 0.1);
    Accelerator accelerator(world, {.device = "cpu"});
    auto [prepared, optimizer] = accelerator.prepare(model, sgd);
    for (int step = 0; step < 2; ++step) {
      optimizer.zero_grad();
      accelerator.backward(model(first).mean());
      accelerator.backward(model(second).mean());
    }
    if (!torch::allclose(model->weight.grad(), plain->weight.grad()))
      throw std::runtime_error("gradients differ");
  });
}

TEST_CASE("accelerator: ranks train as one with the batches of all", "[accelerator][ranks]") {
  const int ranks = GENERATE(2, 3);
  const auto train = [](World& world, std::size_t batch_size) {
    torch::nn::Linear model = model_of_test();
    torch::optim::Adam adam(model->parameters(), 0.01);
    Accelerator accelerator(world, {.accumulation_steps = 2, .device = "cpu"});
    auto [prepared, optimizer, loader] =
        accelerator.prepare(model, adam, loader_of<Sequential>(36, batch_size));
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (auto& batch : loader) {
        const auto accumulating = accelerator.accumulate();
        accelerator.backward(loss_of(model, batch));
        optimizer.step();
        optimizer.zero_grad();
      }
    }
    return weights_of(*model);
  };
  World alone;
  const torch::Tensor expected = train(alone, 6);
  on_ranks(ranks, [&](World& world) {
    const torch::Tensor weights = train(world, static_cast<std::size_t>(6 / world.size()));
    if (!torch::allclose(weights, expected, 1e-4, 1e-5))
      throw std::runtime_error("the ranks learnt something else");
  });
}

TEST_CASE("accelerator: what ranks do together", "[accelerator][ranks]") {
  on_ranks(2, [](World& world) {
    Accelerator accelerator(world, {.device = "cpu"});
    const auto rank = static_cast<float>(world.rank());
    require(torch::equal(accelerator.gather(torch::tensor(rank)), torch::tensor({0.0f, 1.0f})), "gather");
    require(accelerator.reduce(torch::tensor(rank)).item<float>() == 0.5f, "reduce mean");
    require(accelerator.reduce(torch::tensor(rank), Accelerator::Reduce::sum).item<float>() == 1,
            "reduce sum");
    require(accelerator.broadcast(torch::tensor(rank), 1).item<float>() == 1, "broadcast");
    const auto sum = [&](const torch::Tensor& tensor) {
      return accelerator.reduce(tensor, Accelerator::Reduce::sum);
    };
    require(torch::equal(sum(torch::tensor({true, rank == 0})), torch::tensor({2, 1}, torch::kLong)),
            "reduce counts truth values");
    require(accelerator.reduce(torch::tensor(true)).item<float>() == 1, "the mean of truth values");
    require(sum(torch::tensor(200).to(torch::kUInt8)).item<std::int64_t>() == 400, "small integers add up");
    const torch::Tensor half = torch::tensor(40000.0F).to(torch::kHalf);
    require(torch::equal(accelerator.reduce(half), half), "the sum of a mean need not fit into half");
    for (const auto type : {torch::kBool, torch::kShort, torch::kHalf, torch::kComplexFloat}) {
      const torch::Tensor one = torch::ones({1}).to(type), two = torch::ones({2}).to(type);
      require(torch::equal(accelerator.gather(one), two), "gather of any number format");
      require(torch::equal(accelerator.broadcast(world.rank() == 0 ? two : torch::zeros_like(two)), two),
              "broadcast of any number format");
    }
    const torch::Tensor own = torch::full({world.rank() + 1, 2}, rank);
    const torch::Tensor padded = accelerator.pad_across_processes(own, 0, -1),
                        first = accelerator.pad_across_processes(own, 0, -1, true);
    require(padded.size(0) == 2 && first.size(0) == 2, "pad_across_processes");
    require(world.rank() == 1 || (padded[1][0].item<float>() == -1 && first[0][0].item<float>() == -1),
            "padding");
    const torch::Tensor wide =
        accelerator.pad_across_processes(torch::zeros({2, world.rank() + 1}), -1);  // the last dimension
    require(wide.size(0) == 2 && wide.size(1) == 2, "pad_across_processes in the last dimension");
    require(accelerator.is_main_process() == (world.rank() == 0), "is_main_process");
    require(accelerator.is_local_main_process() == (world.local_rank() == 0), "is_local_main_process");
    accelerator.wait_for_everyone();
  });
}

TEST_CASE("accelerator: fp16 skips an update that is not finite, and the schedule waits", "[accelerator]") {
  torch::nn::Linear model = model_of_test();
  torch::optim::SGD sgd(model->parameters(), 0.1);
  torch::optim::StepLR step_lr(sgd, 1, 0.5);
  World alone;
  Accelerator accelerator(alone, {.precision = {"fp16", {{"init_scale", 1e30}}}, .device = "cpu"});
  auto [prepared, optimizer, scheduler] = accelerator.prepare(model, sgd, step_lr);
  const torch::Tensor before = weights_of(*model);
  const auto step = [&](float size) {
    torch::Tensor loss;
    {
      const auto autocast = accelerator.autocast();
      loss = (model(torch::full({1, 3}, size))).to(torch::kFloat).sum();
    }
    accelerator.backward(loss);
    optimizer.step();
    scheduler.step();
    optimizer.zero_grad();
  };
  step(1e10f);
  CHECK(optimizer.step_was_skipped());
  CHECK(torch::equal(weights_of(*model), before));
  CHECK(optimizer.learning_rate() == 0.1);
  for (int i = 0; i < 150 && optimizer.step_was_skipped(); ++i) step(1.0f);
  CHECK_FALSE(optimizer.step_was_skipped());
  CHECK_FALSE(torch::equal(weights_of(*model), before));
  step(1.0f);  // the first step of LibTorch's StepLR changes nothing
  CHECK(optimizer.learning_rate() == 0.05);
}

TEST_CASE("accelerator: after a skipped update gradients may be cleared by setting them to zero",
          "[accelerator]") {
  torch::nn::Linear model = model_of_test();
  torch::optim::SGD sgd(model->parameters(), 0.1);
  World alone;
  Accelerator accelerator(alone, {.precision = {"fp16"}, .device = "cpu"});
  auto [prepared, optimizer] = accelerator.prepare(model, sgd);
  std::vector<bool> skipped;
  for (const float factor : {1.0F, INFINITY, 1.0F}) {
    model->zero_grad(/*set_to_none=*/false);
    accelerator.backward(model(torch::ones({2, 3})).mean() * factor);
    optimizer.step();
    skipped.push_back(optimizer.step_was_skipped());
  }
  CHECK(skipped == std::vector{false, true, false});
}

TEST_CASE("accelerator: a parameter that is unfrozen after preparing has unscaled gradients, too",
          "[accelerator][ranks]") {
  on_ranks(GENERATE(1, 2), [](World& world) {
    torch::nn::Linear model = model_of_test();
    model->weight.set_requires_grad(false);
    Accelerator accelerator(world, {.precision = {"fp16"}, .device = "cpu"});
    accelerator.prepare(model);
    model->weight.set_requires_grad(true);
    accelerator.backward(model(torch::ones({2, 3})).mean());
    require(torch::allclose(model->weight.grad(), torch::ones({1, 3})), "the loss scale is removed");
  });
}

TEST_CASE("accelerator: fp16 skips the updates of every optimizer whose gradients are not finite",
          "[accelerator]") {
  const bool cleared_by_optimizers = GENERATE(true, false);
  torch::nn::Linear one = model_of_test(), other = model_of_test();
  torch::optim::SGD sgd_of_one(one->parameters(), 0.1), sgd_of_other(other->parameters(), 0.1);
  World alone;
  Accelerator accelerator(alone, {.precision = {"fp16", {{"init_scale", 1024}}}, .device = "cpu"});
  auto [first, second, of_one, of_other] = accelerator.prepare(one, other, sgd_of_one, sgd_of_other);
  const torch::Tensor before = weights_of(*other);
  const auto step = [&](float size) {
    torch::Tensor loss;
    {
      const auto autocast = accelerator.autocast();
      const torch::Tensor input = torch::full({1, 3}, size);
      loss = (one(input) + other(input)).to(torch::kFloat).sum();
    }
    accelerator.backward(loss);
    of_one.step();
    cleared_by_optimizers ? of_one.zero_grad() : one->zero_grad();
    of_other.step();
    cleared_by_optimizers ? of_other.zero_grad() : other->zero_grad();
  };
  step(1e10f);
  CHECK(of_one.step_was_skipped());
  CHECK(of_other.step_was_skipped());
  CHECK(torch::equal(weights_of(*other), before));
  step(1.0f);
  CHECK_FALSE(of_one.step_was_skipped());
  CHECK_FALSE(of_other.step_was_skipped());
  CHECK_FALSE(torch::equal(weights_of(*other), before));
}

TEST_CASE("accelerator: runner models and optimizers, and a tracker", "[accelerator]") {
  const TemporaryFolder folder;
  World alone;
  Accelerator accelerator(alone, {.device = "cpu", .trackers = {{"csv"}}});
  const Splits data = accelerator.open_dataset(
      {"synthetic", {{"shape", PartSetting::list({4})}, {"train", 32}, {"eval", 8}}});
  auto model = accelerator.prepare(
      accelerator.build_model({"mlp", {{"hidden", PartSetting::list({8})}}}, data.train->spec()));
  auto optimizer = accelerator.build_optimizer({"sgd", {{"lr", 0.1}}});
  auto scheduler =
      accelerator.prepare_schedule(optimizer, [](std::int64_t step) { return step == 0 ? 1.0 : 0.5; });
  auto loader = accelerator.prepare_split(*data.train, {.batch_size = 8});
  accelerator.init_trackers("test", folder / "run", {{"lr", 0.1}});
  std::int64_t step = 0;
  for (Batch& batch : loader) {
    const torch::Tensor loss = torch::cross_entropy_loss(model->forward(batch), batch.target);
    accelerator.backward(loss);
    accelerator.log({{"train/loss", loss.item<double>()}, {"train/lr", optimizer.learning_rate()}}, ++step);
    optimizer.step();
    scheduler.step();
    optimizer.zero_grad();
  }
  accelerator.end_training();
  CHECK(optimizer.learning_rate() == 0.1 * 0.5);
  std::ifstream file(folder / "run" / "metrics.jsonl");
  std::vector<double> rates;
  for (std::string line; std::getline(file, line);)
    rates.push_back(nlohmann::json::parse(line).at("train/lr"));
  CHECK(rates == std::vector{0.1, 0.05, 0.05, 0.05});
  accelerator.save_model(*model, folder / "saved");
  CHECK(std::filesystem::exists(folder / "saved" / "model.safetensors"));
  accelerator.save_model(*model, folder / "shards", /*max_shard_bytes=*/200);
  CHECK(std::filesystem::exists(folder / "shards" / "model.safetensors.index.json"));
  CHECK(std::filesystem::exists(folder / "shards" / "model-00003-of-00003.safetensors"));
  CHECK_FALSE(std::filesystem::exists(folder / "shards" / "model.safetensors"));
}

// As in the training of a generator and its critic.
TEST_CASE("accelerator: a runner optimizer clears and updates only the model it was built for",
          "[accelerator]") {
  World alone;
  Accelerator accelerator(alone, {.device = "cpu"});
  torch::nn::Linear one = model_of_test(), other = model_of_test();
  accelerator.prepare_model(one.ptr(), "one");
  accelerator.prepare_model(other.ptr(), "other");
  auto optimizer = accelerator.build_optimizer({"sgd", {{"lr", 0.1}}}, *one);
  const torch::Tensor before = weights_of(*other);
  accelerator.backward(one(torch::ones({1, 3})).sum() + other(torch::ones({1, 3})).sum());
  optimizer.step();
  optimizer.zero_grad();
  CHECK_FALSE(one->weight.grad().defined());
  CHECK(other->weight.grad().defined());
  CHECK(torch::equal(weights_of(*other), before));
  CHECK_FALSE(torch::equal(weights_of(*one), before));
  const torch::nn::Linear stranger = model_of_test();
  CHECK_THROWS_WITH(accelerator.build_optimizer({"sgd"}, *stranger), ContainsSubstring("prepare() it first"));
}

TEST_CASE("accelerator: gradients are clipped by value", "[accelerator]") {
  torch::nn::Linear model = model_of_test();
  World alone;
  Accelerator accelerator(alone, {.device = "cpu"});
  accelerator.prepare(model);
  accelerator.backward(model(torch::tensor({{-4.0f, 0.25f, 8.0f}})).sum());
  accelerator.clip_grad_value_(model->parameters(), 0.5);
  CHECK(torch::equal(model->weight.grad(), torch::tensor({{-0.5f, 0.25f, 0.5f}})));
}

namespace {

// The meta device holds no numbers, so nothing can be moved from it.
struct OnMeta : torch::nn::Module {
  torch::Tensor weight = register_parameter("weight", torch::empty({2}, torch::kMeta));
};

}  // namespace

TEST_CASE("accelerator: without device placement models stay where they are", "[accelerator]") {
  World alone;
  Accelerator placing(alone, {.device = "cpu"});
  CHECK_THROWS(placing.prepare(std::make_shared<OnMeta>()));
  Accelerator accelerator(alone, {.device = "cpu", .device_placement = false});
  const auto model = std::make_shared<OnMeta>();
  accelerator.prepare(model);
  CHECK(model->weight.is_meta());
}
