#include <catch2/catch_all.hpp>

#include "runner/engine/strategies/pack_state.hpp"
#include "tests/support/rank_training.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

Case local(std::int64_t every, const std::string& optimizer) {
  Case about;
  about.distributed.strategy = RankStrategy::local_sgd;
  about.distributed.average_every = every;
  about.optimizer = optimizer;
  about.clip_norm.reset();  // each rank clips its own gradients, which no other strategy does
  return about;
}

State averaged(const State& one, double share, const State& other) {
  State result = one.copy();
  for (auto& [name, tensor] : result.tensors) tensor = tensor * share + other.tensors.at(name) * (1 - share);
  return result;
}

// Two processes on their own, and after every second update their average by hand.
std::map<std::string, torch::Tensor> simulated(const Case& about, int steps) {
  World alone;
  Trainee first(alone, about), second(alone, about);
  constexpr double share = 8.0 / 17;  // rank 0 has 5 of 10 and 3 of 7 examples
  for (int step = 0; step < steps; ++step) {
    first.step(step, 0, 2);
    second.step(step, 1, 2);
    if (step % 2 == 0) continue;
    const State weights =
        averaged(first.engine.weights_state().save(), share, second.engine.weights_state().save());
    const State optimizer =
        averaged(first.engine.optimizer().save(), share, second.engine.optimizer().save());
    for (Trainee* trainee : {&first, &second}) {
      trainee->engine.weights_state().load(weights);
      trainee->engine.optimizer().load(optimizer);
    }
  }
  return first.engine.weights_state().save().copy().tensors;
}

}  // namespace

TEST_CASE("local_sgd: with an average after every update it is ddp, for SGD with momentum too") {
  const int ranks = GENERATE(2, 3);
  const Case about = local(1, "sgd");
  Case ddp = about;
  ddp.distributed.strategy = RankStrategy::ddp;
  const auto many = train_on(ranks, about);
  check_close(train_on(ranks, ddp)[0], many[0]);
  for (const Trained& rank : many) CHECK(same_bits(rank, many[0]));
}

TEST_CASE("local_sgd: two ranks are two processes and their weighted average") {
  const Case about = local(2, GENERATE("sgd", "adamw"));
  const auto expected = simulated(about, 4);
  const auto many = train_on(2, about, 4);
  for (const auto& [name, weight] : expected) {
    INFO(name);
    CHECK(torch::allclose(weight, many[0].weights.at(name), 1e-5, 1e-6));
  }
  CHECK(same_bits(many[0], many[1]));
}

TEST_CASE("local_sgd: ranks differ between two averages, and are equal in everything when asked to be") {
  Case about = local(100, "adamw");
  about.norm = true;
  std::vector<std::string> before(2), after(2), buffers(2);
  on_ranks(2, [&](World& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    Trainee trainee(world, about);
    for (int step = 0; step < 3; ++step) trainee.step(step);
    if (trainee.engine.ranks_are_equal()) throw std::logic_error("they should differ");
    before[rank] = pack(trainee.engine.weights_state().save());
    trainee.engine.average_weights();
    if (!trainee.engine.ranks_are_equal()) throw std::logic_error("they should be equal");
    after[rank] = pack(trainee.engine.weights_state().save()) + pack(trainee.engine.optimizer().save());
  });
  CHECK(before[0] != before[1]);
  CHECK(after[0] == after[1]);
}

TEST_CASE("local_sgd: a rank without examples learns nothing and takes over what the others learnt") {
  Case about = local(2, "adamw");
  std::vector<std::map<std::string, torch::Tensor>> weights(2);
  on_ranks(2, [&](World& world) {
    Trainee trainee(world, about);
    // The first rank has one of a thousand parts of each batch: none of its examples.
    for (int step = 0; step < 2; ++step) trainee.step(step, 0, world.rank() == 0 ? 1000 : 1);
    weights[static_cast<std::size_t>(world.rank())] = trainee.engine.weights_state().save().copy().tensors;
  });
  World alone;
  const Trained one = train(alone, about, 2);
  for (const auto& [name, weight] : one.weights) {
    CHECK(torch::allclose(weight, weights[0].at(name), 1e-5, 1e-6));
    CHECK(torch::equal(weights[0].at(name), weights[1].at(name)));
  }
}
