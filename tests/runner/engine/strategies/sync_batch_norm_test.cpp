#include "runner/engine/strategies/sync_batch_norm.hpp"

#include <torch/nn.h>
#include <torch/script.h>

#include <catch2/catch_all.hpp>

#include "runner/engine/strategies/pack_state.hpp"
#include "tests/support/rank_training.hpp"
#include "tests/support/wave.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

bool close(const torch::Tensor& one, const torch::Tensor& other) {
  return torch::allclose(one.to(torch::kDouble), other.to(torch::kDouble), 1e-4, 1e-5);
}

// Norms at several depths, one of them without weights.
struct Convolutions : torch::nn::Module {
  Convolutions() {
    inner->push_back(torch::nn::Conv2d(4, 4, 3));
    inner->push_back(torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(4).affine(false)));
    register_module("first", first);
    register_module("norm", norm);
    register_module("inner", inner);
    const torch::NoGradGuard no_grad;
    double start = 0;
    for (torch::Tensor& parameter : parameters())
      parameter.copy_(wave(parameter.sizes().vec(), start += 0.3) + (parameter.dim() == 1 ? 1.5 : 0));
  }
  torch::Tensor forward(const torch::Tensor& input) {
    return inner->forward(torch::relu(norm(first(input)))).pow(3).mean({2, 3});
  }

  torch::nn::Conv2d first{torch::nn::Conv2dOptions(3, 4, 3)};
  torch::nn::BatchNorm2d norm{4};
  torch::nn::Sequential inner;
};

}  // namespace

TEST_CASE("sync_batch_norm: ranks together are one rank with the whole batch, gradients and all") {
  const int ranks = GENERATE(2, 3);
  const torch::Tensor input = wave({7, 3, 8, 8}, 0.2), slope = wave({7, 4}, 0.5);
  Convolutions alone;
  const torch::Tensor whole = input.clone().requires_grad_();
  const torch::Tensor output = alone.forward(whole);
  (output * slope).sum().backward();

  on_ranks(ranks, [&](World& world) {
    const std::int64_t begin = 7 * world.rank() / ranks, count = 7 * (world.rank() + 1) / ranks - begin;
    Convolutions model;
    const torch::Tensor own = input.narrow(0, begin, count).clone().requires_grad_();
    SyncBatchNorm together(world);
    torch::Tensor result;
    {
      const OperatorModeScope scope(together);
      result = model.forward(own);
    }
    require(close(result, output.narrow(0, begin, count)), "output");
    (result * slope.narrow(0, begin, count)).sum().backward();
    require(close(own.grad(), whole.grad().narrow(0, begin, count)), "gradient of the input");
    for (const auto& item : model.named_parameters()) {
      const torch::Tensor sum = item.value().grad().clone();
      world.all_reduce(sum, Reduction::sum, "a test");
      require(close(sum, alone.named_parameters()[item.key()].grad()), item.key());
    }
    for (const auto& item : model.named_buffers())
      require(close(item.value(), alone.named_buffers()[item.key()]), item.key());
  });
}

TEST_CASE("sync_batch_norm: evaluation is left alone, and TorchScript is not") {
  torch::jit::Module script("script");
  script.define(R"(
    def forward(self, x, weight, bias, mean, variance, training: bool):
        return torch.batch_norm(x, weight, bias, mean, variance, training, 0.1, 1e-5, False)
  )");
  const torch::Tensor input = wave({6, 3}, 0.1);
  const auto run = [&](const torch::Tensor& batch, bool training) {
    return script({batch, torch::ones(3), torch::zeros(3), torch::zeros(3), torch::ones(3), training})
        .toTensor();
  };
  const torch::Tensor expected = run(input, true), fixed = run(input, false);
  on_ranks(2, [&](World& world) {
    SyncBatchNorm together(world);
    const OperatorModeScope scope(together);
    const torch::Tensor own = input.narrow(0, 3 * world.rank(), 3);
    require(close(run(own, true), expected.narrow(0, 3 * world.rank(), 3)), "training");
    require(close(run(own, false), fixed.narrow(0, 3 * world.rank(), 3)), "evaluation");
  });
}

TEST_CASE("sync_batch_norm: an engine trains as one rank does, also where a rank has nothing to do") {
  Case about, together;
  about.norm = together.norm = true;
  // A bias before batch norm has no gradient but rounding, which adaptive optimizers would make large.
  about.optimizer = together.optimizer = "sgd";
  together.distributed.sync_batch_norm = true;
  together.distributed.strategy = GENERATE(RankStrategy::ddp, RankStrategy::zero2);
  World alone;
  const Trained one = train(alone, about);
  check_close(one, train_on(2, together)[0]);
  CHECK_FALSE(same_bits(one, train_on(2, about)[0]));

  std::vector<std::map<std::string, torch::Tensor>> weights(3);
  on_ranks(3, [&](World& world) {
    // The first rank has none of the examples; the others have half of them each.
    Trainee trainee(world, together);
    for (int step = 0; step < 5; ++step)
      world.rank() == 0 ? trainee.step(step, 0, 1000) : trainee.step(step, world.rank() - 1, 2);
    weights[static_cast<std::size_t>(world.rank())] = trainee.engine.weights_state().save().copy().tensors;
  });
  for (const auto& [name, weight] : one.weights) {
    INFO(name);
    CHECK(close(weight, weights[0].at(name)));
    CHECK(close(weight, weights[2].at(name)));
  }
}

namespace {

// One of its layers is used by even ranks only; and the derivative of the square root at zero is infinite.
class Uneven final : public Model {
 public:
  explicit Uneven(bool uses_all) : uses_all_(uses_all) {
    first_ = register_module("first", torch::nn::Linear(3, 8));
    norm_ = register_module("norm", torch::nn::BatchNorm1d(8));
    extra_ = register_module("extra", torch::nn::Linear(8, 8));
    second_norm_ = register_module("second_norm", torch::nn::BatchNorm1d(8));
    last_ = register_module("last", torch::nn::Linear(8, 3));
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : parameters()) parameter.copy_(wave(parameter.sizes().vec(), 0.4));
  }
  torch::Tensor forward(const Batch& batch) override {
    torch::Tensor hidden = norm_(first_(batch.input));
    if (uses_all_) hidden = hidden + extra_(hidden);
    const torch::Tensor size = (first_->weight.square().sum() * batch.input.square().sum(1, true)).sqrt();
    return last_(second_norm_(hidden)) * size;
  }

 private:
  const bool uses_all_;
  torch::nn::Linear first_{nullptr}, extra_{nullptr}, last_{nullptr};
  torch::nn::BatchNorm1d norm_{nullptr}, second_norm_{nullptr};
};

}  // namespace

TEST_CASE("sync_batch_norm: ranks may use different parameters while gradients are sent") {
  EngineOptions options;
  options.precision = [](const PrecisionInputs& inputs) { return part<PrecisionKind>("fp32").build(inputs); };
  options.distributed.sync_batch_norm = true;
  options.distributed.bucket_size = {64};  // each parameter is sent as soon as it is complete
  const auto loss = part<LossKind>("mse").build({});
  std::vector<State> weights(2);
  on_ranks(2, [&](World& world) {
    Engine engine(options, world);
    engine.prepare(std::make_shared<Uneven>(world.rank() == 0), [](const auto& parameters) {
      return part<OptimizerKind>("sgd", {{"lr", 0.01}}).build({make_groups(parameters, {})});
    });
    for (int step = 0; step < 3; ++step) {
      Window window;
      window.batches = {examples(10 * step + 5 * world.rank(), 5)};
      window.sizes_of_batches = {10};
      engine.accumulate(window, *loss);
      engine.update(1);
    }
    weights[static_cast<std::size_t>(world.rank())] = engine.weights_state().save().copy();
  });
  CHECK(pack(weights[0]) == pack(weights[1]));
}

TEST_CASE("sync_batch_norm: gradients of stand-in data are dropped, whatever they are") {
  EngineOptions options;
  options.precision = [](const PrecisionInputs& inputs) { return part<PrecisionKind>("fp32").build(inputs); };
  options.distributed.sync_batch_norm = true;
  const auto loss = part<LossKind>("mse").build({});
  on_ranks(2, [&](World& world) {
    Engine engine(options, world);
    engine.prepare(std::make_shared<Uneven>(true), [](const auto& parameters) {
      return part<OptimizerKind>("sgd", {{"lr", 0.01}}).build({make_groups(parameters, {})});
    });
    Window window;  // the second rank has no examples in the last batch
    window.batches = {examples(3 * world.rank(), 3), examples(20, world.rank() == 0 ? 4 : 0)};
    window.sizes_of_batches = {6, 4};
    engine.accumulate(window, *loss);
    engine.update(1);
    for (const NamedTensor& weight : engine.full_weights())
      require(weight.tensor.isfinite().all().item<bool>(), weight.name);
  });
}
