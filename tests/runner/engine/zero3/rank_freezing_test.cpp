#include <catch2/catch_all.hpp>

#include "tests/support/rank_training.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

using Freeze = std::function<void(Engine&, bool frozen)>;

void by_the_engine(Engine& engine, bool frozen) { engine.set_trainable({{"first.*", !frozen}}); }

// As a loop of one's own does.
void by_hand(Engine& engine, bool frozen) {
  for (const NamedTensor& parameter : engine.weights().held_parameters())
    if (parameter.name.starts_with("first.")) parameter.tensor.set_requires_grad(!frozen);
}

// The first layer is frozen before the steps 0 and 4, and released before the steps 2 and 6.
Trained train_with_freezing(World& world, const Case& about, const Freeze& freeze) {
  Trainee trainee(world, about);
  Trained result;
  for (int step = 0; step < 8; ++step) {
    if (step % 2 == 0) freeze(trainee.engine, step % 4 == 0);
    result.losses.push_back(trainee.step(step));
  }
  for (const NamedTensor& weight : trainee.engine.full_weights())
    result.weights[weight.name] = weight.tensor.clone();
  return result;
}

}  // namespace

TEST_CASE("ranks: parameters may be frozen and released in mid-run, in any way") {
  Case about;
  about.distributed.strategy = GENERATE(RankStrategy::ddp, RankStrategy::zero1, RankStrategy::zero2);
  about.distributed.bucket_size = {100};
  const Freeze freeze = GENERATE(as<Freeze>{}, by_the_engine, by_hand);
  World alone;
  const Trained one = train_with_freezing(alone, about, freeze);
  std::vector<Trained> many(3);
  on_ranks(3, [&](World& world) {
    many[static_cast<std::size_t>(world.rank())] = train_with_freezing(world, about, freeze);
  });
  check_close(one, many[0]);
  for (const Trained& rank : many) CHECK(same_bits(rank, many[0]));
}

// Its averages leave out frozen parameters, so the ranks become equal before any is frozen.
TEST_CASE("ranks: local_sgd leaves no difference in parameters that are frozen between two averages") {
  Case about;
  about.distributed.strategy = RankStrategy::local_sgd;
  about.distributed.average_every = 4;
  std::vector<Trained> many(2);
  on_ranks(2, [&](World& world) {
    Trainee trainee(world, about);
    for (int step = 0; step < 6; ++step) {
      if (step == 2) by_the_engine(trainee.engine, true);
      trainee.step(step);
    }
    trainee.engine.average_weights();
    for (const NamedTensor& weight : trainee.engine.full_weights())
      many[static_cast<std::size_t>(world.rank())].weights[weight.name] = weight.tensor.clone();
  });
  for (const auto& [name, weight] : many[0].weights) {
    INFO(name);
    CHECK(torch::equal(weight, many[1].weights.at(name)));
  }
}

TEST_CASE("ranks: powersgd follows what is frozen and released") {
  Case about;
  about.distributed.compression = Compression::powersgd;
  std::vector<Trained> many(2);
  on_ranks(2, [&](World& world) {
    many[static_cast<std::size_t>(world.rank())] = train_with_freezing(world, about, by_hand);
  });
  CHECK(same_bits(many[0], many[1]));
}
