// The strategies that divide the optimizer's state among ranks, in a user's own training loop.
#include <torch/nn.h>
#include <torch/optim/adam.h>

#include <catch2/catch_all.hpp>

#include "runner/accelerator/accelerator.hpp"
#include "tests/runner/accelerator/small_training.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

struct Deep {
  Deep() {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : model->parameters())
      parameter.copy_(torch::arange(parameter.numel(), torch::kFloat).view(parameter.sizes()).sin());
  }
  torch::nn::Sequential model{torch::nn::Linear(3, 8), torch::nn::Tanh(), torch::nn::Linear(8, 8),
                              torch::nn::Tanh(), torch::nn::Linear(8, 1)};
};

struct Trained {
  torch::Tensor weights;
  std::size_t parameters_with_state = 0;
};

// Six steps on the same twelve examples, however many ranks share them.
Trained train(World& world, RankStrategy strategy, double norm, const std::filesystem::path& folder,
              int from = 0, bool of_runner = false) {
  DistributedOptions distributed;
  distributed.strategy = strategy;
  Accelerator accelerator(world,
                          {.device = "cpu", .loaders = {.split_batches = true}, .distributed = distributed});
  Deep deep;
  torch::optim::Adam adam(deep.model->parameters(), 0.01);
  accelerator.prepare(deep.model);
  PreparedOptimizer optimizer =
      of_runner ? accelerator.build_optimizer({"adam", {{"lr", 0.01}}}) : accelerator.prepare(adam);
  auto loader = accelerator.prepare(loader_of<Sequential>(12, 12));
  if (from > 0) accelerator.load_state(folder);
  for (int step = from; step < 6; ++step) {
    if (step == 3 && from == 0) accelerator.save_state(folder);
    for (auto& batch : loader) {
      accelerator.backward(torch::mse_loss(deep.model->forward(batch.data), batch.target));
      accelerator.clip_grad_norm_(deep.model->parameters(), 0.5, norm);
      optimizer.step();
      optimizer.zero_grad();
    }
  }
  return {weights_of(*deep.model), adam.state().size()};
}

}  // namespace

TEST_CASE("accelerator: ranks that divide the state of the optimizer train as one", "[accelerator][ranks]") {
  const RankStrategy strategy = GENERATE(RankStrategy::zero1, RankStrategy::zero2);
  const double norm = GENERATE(2.0, INFINITY);
  const bool of_runner = GENERATE(false, true);
  const int ranks = GENERATE(2, 3);
  const TemporaryFolder folder;
  World alone;
  const Trained expected = train(alone, RankStrategy::ddp, norm, folder / "alone");
  std::vector<std::size_t> states(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](World& world) {
    const Trained divided = train(world, strategy, norm, folder / "divided", 0, of_runner);
    require(torch::allclose(divided.weights, expected.weights, 1e-4, 1e-5), "the weights of one process");
    states[static_cast<std::size_t>(world.rank())] = divided.parameters_with_state;
    const Trained resumed = train(world, strategy, norm, folder / "divided", 3, of_runner);
    require(torch::equal(resumed.weights, divided.weights),
            "a state that is loaded continues with the same bits");
  });
  std::size_t all = 0;
  for (const std::size_t own : states) all += own;
  if (!of_runner) CHECK(all == 6);  // each parameter has a state on one rank
  // One process continues what several have saved.
  CHECK(torch::allclose(train(alone, RankStrategy::ddp, norm, folder / "divided", 3, of_runner).weights,
                        expected.weights, 1e-4, 1e-5));
}
