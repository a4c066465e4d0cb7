// Precisions that measure the examples they see, such as fp8, on several ranks.
#include <torch/nn.h>

#include <catch2/catch_all.hpp>

#include "runner/engine/strategies/pack_state.hpp"
#include "tests/support/rank_training.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

// With sizes that fp8 can multiply.
class Wide final : public Model {
 public:
  Wide() {
    first_ = register_module("first", torch::nn::Linear(16, 32));
    last_ = register_module("last", torch::nn::Linear(32, 16));
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : parameters())
      parameter.copy_(torch::arange(parameter.numel(), torch::kFloat).view(parameter.sizes()).sin() / 4);
  }
  torch::Tensor forward(const Batch& batch) override { return last_(torch::relu(first_(batch.input))); }

 private:
  torch::nn::Linear first_{nullptr}, last_{nullptr};
};

// Each example is larger than the one before it, so that ranks measure different magnitudes.
Batch growing(std::int64_t step, std::int64_t count) {
  const torch::Tensor input = torch::arange(16 * count, torch::kFloat).view({count, 16}).cos() *
                              torch::arange(1 + step, 1 + step + count, torch::kFloat).view({count, 1});
  return {input, input.roll(1, 1)};
}

class Fp8Trainee {
 public:
  Fp8Trainee(World& world, const DistributedOptions& distributed)
      : world_(world), engine(options_of(distributed), world) {
    engine.prepare(std::make_shared<Wide>(), [](const auto& parameters) {
      return part<OptimizerKind>("sgd", {{"lr", 0.001}}).build({make_groups(parameters, {})});
    });
  }

  void step(std::int64_t number) {
    constexpr std::int64_t size = 6;  // fewer than the shards
    const std::int64_t begin = size * world_.rank() / world_.size(),
                       end = size * (world_.rank() + 1) / world_.size();
    Window window;
    window.batches.push_back(part_of(growing(number, size), begin, end - begin));
    window.sizes_of_batches.push_back(size);
    engine.accumulate(window, *loss_);
    engine.update(1);
  }

  State weights() const { return engine.weights_state(false).save().copy(); }

 private:
  static EngineOptions options_of(const DistributedOptions& distributed) {
    EngineOptions options;
    options.precision = [](const PrecisionInputs& inputs) {
      return part<PrecisionKind>("fp8", {{"amax_history", 4}}).build(inputs);
    };
    options.distributed = distributed;
    return options;
  }

  World& world_;
  const std::unique_ptr<Loss> loss_ = part<LossKind>("mse").build({});

 public:
  Engine engine;
};

}  // namespace

TEST_CASE("ranks: what fp8 has measured is the same on all of them, so that they resume from a checkpoint") {
  DistributedOptions distributed;
  distributed.strategy = GENERATE(RankStrategy::ddp, RankStrategy::local_sgd);
  distributed.average_every = 2;
  on_ranks(2, [&](World& world) {
    Fp8Trainee whole(world, distributed);
    for (int step = 0; step < 4; ++step) whole.step(step);
    whole.engine.average_weights();
    const std::string saved = pack(whole.engine.save());
    for (const std::string& other : world.gather_texts(saved, "the engine's state"))
      require(other == saved, "all ranks have the same state");

    Fp8Trainee resumed(world, distributed);
    resumed.engine.load(unpack(world.broadcast_text(saved, 0, "the checkpoint")));
    resumed.engine.weights_state(false).load(whole.weights());
    resumed.engine.optimizer().load(whole.engine.optimizer().save().copy());
    for (int step = 4; step < 8; ++step) {
      whole.step(step);
      resumed.step(step);
    }
    require(pack(whole.weights()) == pack(resumed.weights()), "the same weights");
  });
}

TEST_CASE("ranks: reproducible training in fp8 has the same bits on any number of them") {
  DistributedOptions distributed;
  distributed.reproducible = true;
  const auto trained = [&](World& world) {
    Fp8Trainee trainee(world, distributed);
    for (int step = 0; step < 4; ++step) trainee.step(step);
    return pack(trainee.weights()) + pack(trainee.engine.precision().save());
  };
  at::set_num_threads(1);  // as the ranks have
  World alone;
  const std::string one = trained(alone);
  for (const int ranks : {2, 4})
    on_ranks(ranks, [&](World& world) { require(trained(world) == one, "the bits of a single process"); });
}
