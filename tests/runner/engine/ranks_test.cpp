#include <torch/nn.h>

#include <catch2/catch_all.hpp>
#include <mutex>

#include "components/optimizers/support/groups.hpp"
#include "runner/data/batch_part.hpp"
#include "runner/engine/engine.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

class Net : public Model {
 public:
  explicit Net(bool norm) {
    first = register_module("first", torch::nn::Linear(3, 8));
    if (norm) middle = register_module("middle", torch::nn::BatchNorm1d(8));
    last = register_module("last", torch::nn::Linear(8, 3));
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : parameters())
      parameter.copy_(torch::arange(parameter.numel(), torch::kFloat).view(parameter.sizes()).sin());
  }

  torch::Tensor forward(const Batch& batch) override {
    torch::Tensor hidden = first(batch.input);
    if (middle) hidden = middle(hidden);
    return last(torch::relu(hidden));
  }

  torch::nn::Linear first{nullptr}, last{nullptr};
  torch::nn::BatchNorm1d middle{nullptr};
};

Batch examples(std::int64_t from, std::int64_t count) {
  const torch::Tensor input =
      torch::arange(3 * from, 3 * (from + count), torch::kFloat).view({count, 3}).cos();
  return {input, input.roll(1, 1)};
}

struct Case {
  DistributedSection distributed = {};
  std::string optimizer = "adamw";
  bool norm = false;
  std::optional<double> clip_norm = 0.3;
  OnFullMemory on_full = OnFullMemory::stop;
  std::int64_t times = 1;  // as many examples
};

struct Trained {
  std::vector<double> losses;
  std::map<std::string, torch::Tensor> weights;
  State optimizer;  // complete on rank 0
};

// Windows of two micro-batches of 10 and 7 examples: neither divides by 2, 3 or 4.
Trained train(World& world, const Case& about, int steps = 5, const State* optimizer = nullptr) {
  EngineOptions options;
  options.precision = [](const PrecisionInputs& inputs) { return part<PrecisionKind>("fp32").build(inputs); };
  options.clip_norm = about.clip_norm;
  options.distributed = about.distributed;
  options.on_out_of_memory = about.on_full;
  Engine engine(options, world);
  engine.prepare(std::make_shared<Net>(about.norm), [&](const auto& parameters) {
    auto groups = make_groups(parameters, {});
    for (ParameterGroup& group : groups) {
      ParameterGroup own;
      for (std::size_t i = 0; i < group.names.size(); ++i) {
        if (!engine.updates(group.names[i])) continue;
        own.names.push_back(group.names[i]);
        own.parameters.push_back(group.parameters[i]);
      }
      group = own;
    }
    return part<OptimizerKind>(about.optimizer, {{"lr", 0.05}}).build({groups});
  });
  if (optimizer) engine.optimizer().load(*optimizer);
  const auto loss = part<LossKind>("mse").build({});
  Trained result;
  for (int step = 0; step < steps; ++step) {
    Window window;
    window.seed = static_cast<std::uint64_t>(step);
    for (const std::int64_t size : {10 * about.times, 7 * about.times}) {
      const Batch all = examples(100 * step, size);
      const std::int64_t begin = size * world.rank() / world.size();
      const std::int64_t end = size * (world.rank() + 1) / world.size();
      window.batches.push_back(part_of(all, begin, end - begin));
      window.sizes_of_batches.push_back(size);
    }
    result.losses.push_back(engine.accumulate(window, *loss).mean());
    engine.gradient_norm();
    engine.update(1);
  }
  for (const NamedTensor& weight : engine.full_weights()) result.weights[weight.name] = weight.tensor.clone();
  result.optimizer = engine.optimizer().save().copy();
  return result;
}

std::vector<Trained> train_on(int ranks, const Case& about, int steps = 5, const State* optimizer = nullptr) {
  std::vector<Trained> results(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](World& world) {
    results[static_cast<std::size_t>(world.rank())] = train(world, about, steps, optimizer);
  });
  return results;
}

void check_close(const Trained& one, const Trained& other) {
  REQUIRE(one.losses.size() == other.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    CHECK_THAT(other.losses[i], Catch::Matchers::WithinRel(one.losses[i], 1e-5));
  for (const auto& [name, weight] : one.weights) {
    INFO(name);
    CHECK(torch::allclose(weight.to(torch::kDouble), other.weights.at(name).to(torch::kDouble), 1e-4, 1e-5));
  }
}

bool same_bits(const Trained& one, const Trained& other) {
  return std::ranges::all_of(one.weights, [&](const auto& entry) {
    return torch::equal(entry.second, other.weights.at(entry.first));
  });
}

}  // namespace

TEST_CASE("ranks: any number of them updates as one does, and all have the same weights") {
  const RankStrategy strategy = GENERATE(RankStrategy::ddp, RankStrategy::zero1, RankStrategy::zero2);
  const int ranks = GENERATE(2, 3, 4);
  Case about;
  about.distributed.strategy = strategy;
  about.distributed.bucket_size = {100};
  about.optimizer = GENERATE("adamw", "muon", "lamb");
  // muon refuses parameters without a matrix among them, and more ranks than matrices would get such.
  if (about.optimizer == "muon" && strategy != RankStrategy::ddp && ranks > 2) {
    SUCCEED("refused, as the optimizer's own tests show");
    return;
  }
  World alone;
  const Trained one = train(alone, about);
  const auto many = train_on(ranks, about);
  check_close(one, many[0]);
  for (const Trained& rank : many) CHECK(same_bits(rank, many[0]));
}

TEST_CASE("ranks: where memory may run out, gradients are exchanged after backward, with the same result") {
  Case about;
  about.on_full = OnFullMemory::split;
  World alone;
  check_close(train(alone, about), train_on(3, about)[0]);
}

TEST_CASE("ranks: compression comes close, and all ranks stay equal") {
  Case about, compressed;
  compressed.distributed.compression = GENERATE(Compression::fp16, Compression::bf16);
  const auto exact = train_on(2, about), rounded = train_on(2, compressed);
  CHECK(same_bits(rounded[0], rounded[1]));
  CHECK_FALSE(same_bits(rounded[0], exact[0]));
  CHECK_THAT(rounded[0].losses.back(), Catch::Matchers::WithinRel(exact[0].losses.back(), 0.05));
}

TEST_CASE("ranks: a sharded optimizer's state loads on another number of ranks") {
  Case about;
  about.distributed.strategy = RankStrategy::zero1;
  const State saved = train_on(3, about)[0].optimizer;
  World alone;
  CHECK(saved.tensors.size() == train(alone, about).optimizer.tensors.size());
  const Trained one = train(alone, about, 2, &saved);
  check_close(one, train_on(2, about, 2, &saved)[0]);
  check_close(one, train_on(4, about, 2, &saved)[0]);
}

TEST_CASE("ranks: running statistics are those of rank 0, on all ranks") {
  Case about;
  about.norm = true;
  const auto many = train_on(3, about);
  for (const Trained& rank : many) CHECK(same_bits(rank, many[0]));
}

TEST_CASE("ranks: reproducible gives the same bits on 1, 2, 4 and 8 ranks, batch-norm included") {
  Case about;
  about.distributed.reproducible = true;
  about.norm = GENERATE(false, true);
  if (about.norm) about.times = 4;  // it needs more than one example in each of 8 shards
  torch::set_num_threads(1);
  World alone;
  const Trained one = train(alone, about);
  for (const int ranks : {2, 4, 8}) {
    const auto many = train_on(ranks, about);
    for (const Trained& rank : many) CHECK(same_bits(rank, one));
    CHECK(many[0].losses == one.losses);
  }
}

TEST_CASE("ranks: reproducible cannot be shared out among three") {
  Case about;
  about.distributed.reproducible = true;
  const auto errors = try_on_ranks(3, [&](World& world) { train(world, about); });
  CHECK_THAT(message_of(errors[0]), Catch::Matchers::ContainsSubstring("powers of two"));
}
