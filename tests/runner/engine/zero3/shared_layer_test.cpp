// A layer that is registered under two names is trained like one with a single name.
#include <catch2/catch_all.hpp>

#include "tests/support/rank_training.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

void check_shared(const Trained& plain, const Trained& shared) {
  CHECK(plain.losses == shared.losses);
  for (const auto& [name, weight] : plain.weights) {
    INFO(name);
    CHECK(torch::equal(weight, shared.weights.at(name)));
  }
  CHECK(torch::equal(plain.weights.at("deep.weight"), shared.weights.at("again.weight")));  // in files, too
}

Case with_names(int names) {
  Case about;
  about.deep_names = names;
  about.distributed.bucket_size = {100};
  return about;
}

}  // namespace

TEST_CASE("a layer with two names is updated once") {
  World alone;
  const Trained plain = train(alone, with_names(1)), shared = train(alone, with_names(2));
  check_shared(plain, shared);
}

TEST_CASE("ranks: a layer with two names is exchanged and updated once") {
  const auto strategy =
      GENERATE(RankStrategy::ddp, RankStrategy::zero1, RankStrategy::zero2, RankStrategy::zero3);
  Case one = with_names(1), two = with_names(2);
  one.distributed.strategy = two.distributed.strategy = strategy;
  const auto plain = train_on(2, one), shared = train_on(2, two);
  check_shared(plain[0], shared[0]);
}

TEST_CASE("statistics of a batch norm with two names are averaged, and its momentum is restored") {
  struct Twice : Net {
    Twice() : Net(true) { register_module("again", middle.ptr()); }
  };
  World alone;
  EngineOptions options;
  options.precision = [](const PrecisionInputs& inputs) { return part<PrecisionKind>("fp32").build(inputs); };
  Engine engine(options, alone);
  const auto net = std::make_shared<Twice>();
  engine.prepare(net);
  engine.average_batch_statistics([] {});
  CHECK(net->middle->options.momentum() == 0.1);
}
