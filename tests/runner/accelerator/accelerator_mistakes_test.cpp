#include <torch/nn.h>
#include <torch/optim/schedulers/step_lr.h>
#include <torch/optim/sgd.h>

#include <catch2/catch_all.hpp>

#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/launch.hpp"
#include "tests/runner/accelerator/small_training.hpp"
#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("accelerator: mistakes are named", "[accelerator]") {
  World alone;
  CHECK_THROWS_WITH(Accelerator(alone, {.precision = {"fp61"}}), ContainsSubstring("fp61"));
  CHECK_THROWS_WITH(Accelerator(alone, {.accumulation_steps = 0}), ContainsSubstring("accumulation_steps"));
  AcceleratorOptions sharded;
  sharded.distributed.strategy = RankStrategy::zero3;
  CHECK_THROWS_WITH(Accelerator(alone, sharded), ContainsSubstring("ddp"));
  AcceleratorOptions without_effect;
  without_effect.distributed.offload = Offload::cpu;
  CHECK_THROWS_WITH(Accelerator(alone, without_effect),
                    ContainsSubstring("offload applies only with strategy = \"zero3\""));
  AcceleratorOptions of_all_ranks;
  of_all_ranks.distributed.batch = BatchOf::global;
  CHECK_THROWS_WITH(Accelerator(alone, of_all_ranks), ContainsSubstring("distributed.batch has no effect"));
  AcceleratorOptions connected;
  connected.distributed.timeout = seconds(30);
  CHECK_THROWS_WITH(Accelerator(alone, connected), ContainsSubstring("give them to launch()"));
  CHECK_THROWS_WITH(launch([](World&) {}, 1, {.timeout = epochs(1)}), ContainsSubstring("timeout"));
  Accelerator accelerator(alone, {.device = "cpu"});
  CHECK_THROWS_WITH(accelerator.broadcast(torch::ones({}), 1), "broadcast(): there is no rank 1 among 1.");
  CHECK_THROWS_WITH(accelerator.backward(torch::ones({})), ContainsSubstring("prepare() it first"));
  CHECK_THROWS_WITH(accelerator.accumulate(-1), ContainsSubstring("a weight of at least 0"));
  CHECK_THROWS_WITH(accelerator.log({}, 1), ContainsSubstring("init_trackers"));
  const Splits data = accelerator.open_dataset({"synthetic", {{"shape", PartSetting::list({4})}}});
  CHECK_THROWS_WITH(accelerator.prepare_split(*data.train, {.batch_size = 0}),
                    "batch_size must be at least 1");
  torch::nn::Linear model = model_of_test();
  CHECK_THROWS_WITH(accelerator.prepare_model(model.ptr(), "a.b"), ContainsSubstring("\"a.b\""));
  accelerator.prepare_model(model.ptr(), "head");
  CHECK_THROWS_WITH(accelerator.prepare(model), "A model was prepared twice.");
  CHECK_THROWS_WITH(accelerator.backward(model(torch::ones({2, 3}))), ContainsSubstring("of shape [2, 1]"));
  torch::nn::Linear second = model_of_test();
  CHECK_THROWS_WITH(accelerator.prepare_model(second.ptr(), "head"),
                    "Another model is called \"head\" already.");
  torch::optim::SGD sgd(model->parameters(), 0.1);
  torch::optim::StepLR step_lr(sgd, 2);
  accelerator.prepare(sgd, step_lr);
  CHECK_THROWS_WITH(accelerator.prepare(sgd), "An optimizer was prepared twice.");
  CHECK_THROWS_WITH(accelerator.prepare(step_lr), "A scheduler was prepared twice.");
  struct Nothing final : Stateful {
  } counted;
  accelerator.register_for_checkpointing("progress", counted);
  CHECK_THROWS_WITH(accelerator.register_for_checkpointing("progress", counted),
                    ContainsSubstring("as \"progress\""));
}

TEST_CASE("accelerator: an optimizer of a model that was not prepared is noticed", "[accelerator]") {
  World alone;
  Accelerator accelerator(alone, {.device = "cpu"});
  torch::nn::Linear model = model_of_test(), forgotten = model_of_test();
  torch::optim::SGD sgd(forgotten->parameters(), 0.1);
  accelerator.prepare(sgd, model);
  const auto loss = [&] { return model(torch::ones({1, 3})).sum(); };
  CHECK_THROWS_WITH(accelerator.backward(loss()), ContainsSubstring("belongs to no prepared model"));
  accelerator.prepare(forgotten);
  CHECK_NOTHROW(accelerator.backward(loss()));
}

TEST_CASE("accelerator: passes that would take batches from each other are refused", "[accelerator][ranks]") {
  on_ranks(GENERATE(1, 2), [](World& world) {
    Accelerator accelerator(world, {.device = "cpu"});
    auto loader = accelerator.prepare(loader_of<Sequential>(12, 2)), other = loader.after(1);
    const auto refused = [](const auto& action) {
      try {
        action();
      } catch (const std::logic_error&) {
        return true;
      }
      return false;
    };
    std::int64_t batches = 0;
    for ([[maybe_unused]] auto& batch : loader) {
      ++batches;
      require(refused([&] { other.begin(); }), "a second pass over the same loader");
      require(loader.position() == batches, "the position is that of the first");
    }
    require(batches == 6 / world.size(), "all batches of the first");
    require(refused([&] { loader.after(-1).begin(); }), "fewer than no batches are skipped");
    const auto options = torch::data::DataLoaderOptions(2).workers(1).enforce_ordering(false);
    const auto unordered = [&] {
      accelerator.prepare(torch::data::make_data_loader<Sequential>(
          Numbers(12).map(torch::data::transforms::Stack<>()), options));
    };
    require(refused(unordered) == (world.size() > 1), "ranks that do not agree on the order");
  });
}

TEST_CASE("accelerator: an exception on a single rank is an exit code, as on several", "[accelerator]") {
  CHECK(launch([](World&) {}, 1) == 0);
  CHECK(launch([](World&) { throw std::runtime_error("this is part of a test"); }, 1) == 1);
  CHECK(launch([](World&) { throw 42; }, 1) == 1);
}

TEST_CASE("accelerator: an exception of LibTorch has no stack frames", "[accelerator]") {
  World alone;
  const Accelerator accelerator(alone, {.device = "cpu"});
  CHECK_THROWS_WITH(torch::ones({2, 3}).mm(torch::ones({2, 3})),
                    ContainsSubstring("shapes cannot be multiplied") && !ContainsSubstring("frame #"));
}

TEST_CASE("accelerator: tensors that cannot be gathered are described on every rank",
          "[accelerator][ranks]") {
  on_ranks(2, [](World& world) {
    Accelerator accelerator(world, {.device = "cpu"});
    const auto require_refused = [&](const torch::Tensor& tensor, const std::string& wanted) {
      std::string said;
      try {
        accelerator.gather(tensor);
      } catch (const std::invalid_argument& error) {
        said = error.what();
      }
      if (said.find(wanted) == std::string::npos) throw std::runtime_error("not refused: " + said);
    };
    require_refused(torch::zeros({2, 3 + world.rank()}), "rank 0 has Float [2, 3], rank 1 has Float [2, 4]");
    require_refused(torch::zeros({2}, world.rank() == 0 ? torch::kFloat : torch::kLong),
                    "rank 0 has Float [2], rank 1 has Long [2]");
    if (accelerator.gather(torch::zeros({2 + world.rank(), 3})).size(0) != 5)
      throw std::runtime_error("the first dimension may differ");
  });
}

namespace {

// Its backward pass fails, after that of what was computed from it.
struct Failing : torch::autograd::Function<Failing> {
  static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& input) {
    return input.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 const torch::autograd::variable_list&) {
    throw std::runtime_error("no memory");
  }
};

}  // namespace

TEST_CASE("accelerator: gradients of a backward pass that failed are lost, and no others",
          "[accelerator][ranks]") {
  const std::int64_t windows = GENERATE(1, 2);  // of gradients that are added up before the update
  const int ranks = GENERATE(1, 2);             // on each of which the pass fails
  const auto trained = [&](bool fails) {
    torch::Tensor weights;
    on_ranks(ranks, [&](World& world) {
      Accelerator accelerator(world, {.device = "cpu"});
      torch::nn::Linear model = model_of_test();
      torch::optim::SGD sgd(model->parameters(), 0.1);
      auto optimizer = accelerator.prepare(sgd);
      accelerator.prepare(model);
      const torch::Tensor input = torch::eye(3);
      for (int step = 0; step < 4; ++step) {
        for (std::int64_t window = 0; window < windows; ++window) {
          accelerator.backward((model(input) - step).square().mean());
          if (!fails) continue;
          std::string said;
          try {  // the bias has its gradient when the pass fails
            accelerator.backward((Failing::apply(model->weight).sum() + model->bias * 100).sum());
          } catch (const std::runtime_error& error) {
            said = error.what();
          }
          require(said == "no memory", "the pass fails");
        }
        optimizer.step();
        optimizer.zero_grad();
      }
      if (world.is_main()) weights = weights_of(*model);
    });
    return weights;
  };
  CHECK(torch::equal(trained(false), trained(true)));
}
