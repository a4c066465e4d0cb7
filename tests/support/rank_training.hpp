// A small model that a test trains on ranks of its own, with windows that no number of ranks divides.
#pragma once

#include <torch/nn.h>

#include <catch2/catch_all.hpp>
#include <limits>

#include "components/optimizers/groups.hpp"
#include "runner/engine/engine.hpp"
#include "runner/engine/runtime/batch_part.hpp"
#include "runner/engine/strategies/own_groups.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/ranks.hpp"

namespace runner::testing {

class Net : public Model {
 public:
  // `deep_names`: a layer that is used twice has so many names.
  explicit Net(bool norm, int deep_names = 0) {
    first = register_module("first", torch::nn::Linear(3, 8));
    if (deep_names > 0) deep = register_module("deep", torch::nn::Linear(8, 8));
    if (deep_names > 1) register_module("again", deep.ptr());
    if (norm) middle = register_module("middle", torch::nn::BatchNorm1d(8));
    if (norm) register_buffer("short", torch::ones({2}, torch::kShort));  // which Gloo does not know
    last = register_module("last", torch::nn::Linear(8, 3));
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : parameters())
      parameter.copy_(torch::arange(parameter.numel(), torch::kFloat).view(parameter.sizes()).sin());
  }

  torch::Tensor forward(const Batch& batch) override {
    // A petabyte: the allocator really refuses.
    if (batch.size() > most_examples) torch::empty(std::int64_t{1} << 50, torch::kUInt8);
    torch::Tensor hidden = first(batch.input);
    if (middle) hidden = middle(hidden);
    if (deep) hidden = deep(deep(hidden).tanh());
    return last(torch::relu(hidden));
  }

  torch::nn::Linear first{nullptr}, deep{nullptr}, last{nullptr};
  torch::nn::BatchNorm1d middle{nullptr};
  std::int64_t most_examples = std::numeric_limits<std::int64_t>::max();
};

inline Batch examples(std::int64_t from, std::int64_t count) {
  const torch::Tensor input =
      torch::arange(3 * from, 3 * (from + count), torch::kFloat).view({count, 3}).cos();
  return {input, input.roll(1, 1)};
}

// Counts only some of the examples: windows of as many examples have different weights.
class LossOfSome final : public Loss {
 public:
  torch::Tensor sum(const torch::Tensor& output, const Batch& batch) const override {
    return ((output - batch.target).square().sum(1) * counted(batch)).sum();
  }
  double weight(const Batch& batch) const override { return counted(batch).sum().item<double>(); }

 private:
  static torch::Tensor counted(const Batch& batch) {
    return (batch.target.select(1, 0) > 0.3).to(torch::kFloat);
  }
};

struct Case {
  DistributedOptions distributed = {};
  std::string optimizer = "adamw";
  bool norm = false;
  int deep_names = 0;
  std::optional<double> clip_norm = 0.3;
  OnOutOfMemory on_full = OnOutOfMemory::stop;
  std::vector<std::int64_t> micro_batches = {10, 7};  // of a window: do not divide by 2, 3 or 4
  std::int64_t times = 1;                             // as many examples
  bool counts_some = false;                           // of the examples: LossOfSome
  int cramped_rank = -1;                              // has memory for two examples at a time only
};

struct Trained {
  std::vector<double> losses;
  std::map<std::string, torch::Tensor> weights;
  State optimizer;  // this rank's part of it
};

// Trains it, one window at a time.
class Trainee {
 public:
  Trainee(World& world, const Case& about) : world_(world), about_(about), engine(options_of(about), world) {
    const auto net = std::make_shared<Net>(about.norm, about.deep_names);
    if (world.rank() == about.cramped_rank) net->most_examples = 2;
    engine.prepare(net, [&](const auto& parameters) {
      const auto own = own_inputs(make_groups(parameters, {}),
                                  [&](const std::string& name) { return engine.updates(name); });
      return part<OptimizerKind>(about.optimizer, {{"lr", 0.05}}).build(own);
    });
  }

  // As the given rank of so many; returns the loss.
  double step(int number, int rank, int ranks) {
    Window window;
    window.seed = static_cast<std::uint64_t>(number);
    for (const std::int64_t each : about_.micro_batches) {
      const std::int64_t size = each * about_.times;
      const Batch all = examples(100 * number, size);
      const std::int64_t begin = size * rank / ranks, end = size * (rank + 1) / ranks;
      window.batches.push_back(part_of(all, begin, end - begin));
      window.sizes_of_batches.push_back(size);
    }
    const double loss = engine.accumulate(window, *loss_).mean();
    engine.gradient_norm();
    engine.update(1);
    return loss;
  }
  double step(int number) { return step(number, world_.rank(), world_.size()); }

 private:
  static EngineOptions options_of(const Case& about) {
    EngineOptions options;
    options.precision = [](const PrecisionInputs& inputs) {
      return part<PrecisionKind>("fp32").build(inputs);
    };
    options.clip_norm = about.clip_norm;
    options.distributed = about.distributed;
    options.on_out_of_memory = about.on_full;
    return options;
  }

  World& world_;
  const Case about_;
  const std::unique_ptr<Loss> loss_ =
      about_.counts_some ? std::make_unique<LossOfSome>() : part<LossKind>("mse").build({});

 public:
  Engine engine;
};

inline Trained train(World& world, const Case& about, int steps = 5, const State* optimizer = nullptr) {
  Trainee trainee(world, about);
  if (optimizer) trainee.engine.optimizer().load(*optimizer);
  Trained result;
  for (int step = 0; step < steps; ++step) result.losses.push_back(trainee.step(step));
  for (const NamedTensor& weight : trainee.engine.full_weights())
    result.weights[weight.name] = weight.tensor.clone();
  result.optimizer = trainee.engine.optimizer().save().copy();
  return result;
}

inline std::vector<Trained> train_on(int ranks, const Case& about, int steps = 5,
                                     const State* optimizer = nullptr) {
  std::vector<Trained> results(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](World& world) {
    results[static_cast<std::size_t>(world.rank())] = train(world, about, steps, optimizer);
  });
  return results;
}

inline void check_close(const Trained& one, const Trained& other) {
  REQUIRE(one.losses.size() == other.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    CHECK_THAT(other.losses[i], Catch::Matchers::WithinRel(one.losses[i], 1e-5));
  for (const auto& [name, weight] : one.weights) {
    INFO(name);
    CHECK(torch::allclose(weight.to(torch::kDouble), other.weights.at(name).to(torch::kDouble), 1e-4, 1e-5));
  }
}

inline bool same_bits(const Trained& one, const Trained& other) {
  return std::ranges::all_of(one.weights, [&](const auto& entry) {
    return torch::equal(entry.second, other.weights.at(entry.first));
  });
}

}  // namespace runner::testing
