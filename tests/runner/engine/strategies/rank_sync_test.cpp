#include <catch2/catch_all.hpp>

#include "runner/engine/strategies/pack_state.hpp"
#include "runner/engine/strategies/rank_sync.hpp"
#include "runner/inspect/counting_world.hpp"
#include "tests/support/rank_training.hpp"

using namespace runner;
using namespace runner::testing;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("ranks: any number of them updates as one does, and all have the same weights") {
  const RankStrategy strategy = GENERATE(RankStrategy::ddp, RankStrategy::zero1, RankStrategy::zero2);
  const int ranks = GENERATE(2, 3, 4);
  Case about;
  about.distributed.strategy = strategy;
  about.distributed.bucket_size = {100};
  about.optimizer = GENERATE("adamw", "muon", "lamb");
  World alone;
  const Trained one = train(alone, about);
  const auto many = train_on(ranks, about);
  check_close(one, many[0]);
  for (const Trained& rank : many) CHECK(same_bits(rank, many[0]));
}

TEST_CASE("ranks: those without examples take part in every exchange, in the same order as the others") {
  Case about;
  about.distributed.strategy = GENERATE(RankStrategy::ddp, RankStrategy::zero1, RankStrategy::zero2);
  about.distributed.bucket_size = {100};
  about.micro_batches = {2, 1};  // of four ranks, two have nothing, and one has less often something
  if (about.distributed.strategy == RankStrategy::ddp)
    about.distributed.compression = GENERATE(Compression::none, Compression::powersgd);
  World alone;
  Case exact = about;
  exact.distributed.compression = Compression::none;
  const Trained one = train(alone, exact);
  const auto many = train_on(4, about);
  if (about.distributed.compression == Compression::none) check_close(one, many[0]);
  for (const Trained& rank : many) CHECK(same_bits(rank, many[0]));
}

TEST_CASE("ranks: windows are divided by their true weight, whatever the first of the run weighed") {
  Case about;
  about.distributed.strategy =
      GENERATE(RankStrategy::ddp, RankStrategy::zero1, RankStrategy::zero2, RankStrategy::zero3);
  about.distributed.bucket_size = {100};
  about.counts_some = true;
  about.optimizer = "sgd";  // adamw would hide a wrong divisor
  about.clip_norm = {};
  about.on_full = GENERATE(OnOutOfMemory::stop, OnOutOfMemory::split);
  World alone;
  const auto many = train_on(3, about);
  check_close(train(alone, about), many[0]);
  for (const Trained& rank : many) CHECK(same_bits(rank, many[0]));
}

TEST_CASE("ranks: resumed, they expect of a window what they expected before") {
  Case about;
  about.counts_some = true;
  on_ranks(2, [&](World& world) {
    Trainee whole(world, about);
    whole.step(0);
    const State engine = whole.engine.save().copy(),
                weights = whole.engine.weights_state(false).save().copy(),
                optimizer = whole.engine.optimizer().save().copy();
    Trainee resumed(world, about);
    resumed.engine.load(engine);
    resumed.engine.weights_state(false).load(weights);
    resumed.engine.optimizer().load(optimizer);
    for (int step = 1; step < 4; ++step) {
      if (whole.step(step) != resumed.step(step)) throw std::logic_error("another loss");
    }
    const auto one = whole.engine.full_weights(), other = resumed.engine.full_weights();
    for (std::size_t i = 0; i < one.size(); ++i)
      if (!torch::equal(one[i].tensor, other[i].tensor)) throw std::logic_error("another " + one[i].name);
  });
}

TEST_CASE("ranks: where memory may run out, gradients are exchanged after backward, with the same result") {
  Case about;
  about.on_full = OnOutOfMemory::split;
  World alone;
  check_close(train(alone, about), train_on(3, about)[0]);
}

TEST_CASE("ranks: memory that runs out on one of them is agreed on before any tries again") {
  Case about;
  about.on_full = OnOutOfMemory::split;
  const auto enough = train_on(3, about);
  about.cramped_rank = GENERATE(0, 2);
  const auto cramped = train_on(3, about);
  for (const Trained& rank : cramped) CHECK(same_bits(rank, cramped[0]));
  check_close(enough[0], cramped[0]);
}

TEST_CASE("ranks: all use micro-batches that fit on every one of them, and save the same") {
  Case about;
  about.on_full = OnOutOfMemory::split;
  about.cramped_rank = GENERATE(0, 2);
  on_ranks(3, [&](World& world) {
    Trainee trainee(world, about);
    trainee.step(0);
    const State saved = trainee.engine.save();
    if (saved.integers.at("micro_batch") != 2) throw std::logic_error("another size");
    for (const std::string& other : world.gather_texts(pack(saved), "the engine's state"))
      if (other != pack(saved)) throw std::logic_error("another state");
  });
}

TEST_CASE("ranks: one that has no memory left is named by the others, with the remedy") {
  Case about;
  about.cramped_rank = 1;
  const auto errors = try_on_ranks(2, [&](World& world) { train(world, about); }, {.timeout = 5s});
  CHECK_THAT(message_of(errors[1]), ContainsSubstring("do not fit into memory"));
  CHECK_THAT(message_of(errors[0]), ContainsSubstring("rank 1 (host here") &&
                                        ContainsSubstring("do not fit into memory") &&
                                        ContainsSubstring("train.on_out_of_memory"));
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
  State saved;
  for (Trained& rank : train_on(3, about)) {
    saved.tensors.merge(rank.optimizer.tensors);
    saved.integers.merge(rank.optimizer.integers);
  }
  World alone;
  CHECK(saved.tensors.size() == train(alone, about).optimizer.tensors.size());
  const Trained one = train(alone, about, 2, &saved);
  check_close(one, train_on(2, about, 2, &saved)[0]);
  check_close(one, train_on(4, about, 2, &saved)[0]);
}

TEST_CASE("ranks: each sees the gradients of all parameters, also of those that another rank updates") {
  Case about;
  about.distributed.strategy = GENERATE(RankStrategy::ddp, RankStrategy::zero1, RankStrategy::zero2);
  const auto gradients = [&](World& world) {
    Trainee trainee(world, about);
    trainee.engine.set_trainable({{"first.bias", false}});
    constexpr std::int64_t size = 10;
    const std::int64_t begin = size * world.rank() / world.size(),
                       end = size * (world.rank() + 1) / world.size();
    Window window;
    window.batches.push_back(part_of(examples(0, size), begin, end - begin));
    window.sizes_of_batches.push_back(size);
    trainee.engine.accumulate(window, *part<LossKind>("mse").build({}));
    std::map<std::string, torch::Tensor> found;
    trainee.engine.weights().visit(
        [&](const std::string& name, const torch::Tensor&, const torch::Tensor& gradient) {
          found[name] = gradient.defined() ? gradient.clone() : torch::Tensor();
        });
    return found;
  };
  World alone;
  const auto expected = gradients(alone);
  REQUIRE(expected.size() == 4);
  on_ranks(3, [&](World& world) {
    const auto found = gradients(world);
    for (const auto& [name, gradient] : expected) {
      require(found.at(name).defined() == (name != "first.bias"),
              name + " has a gradient unless it is frozen");
      require(!gradient.defined() || torch::allclose(gradient, found.at(name), 1e-4, 1e-6), name);
    }
  });
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

TEST_CASE("ranks: buffers are equal after an update that was skipped") {
  Case about;
  about.norm = true;
  std::vector<torch::Tensor> means(2);
  on_ranks(2, [&](World& world) {
    Trainee trainee(world, about);
    trainee.engine.accumulate({{examples(100 * world.rank(), 5)}}, *part<LossKind>("mse").build({}));
    trainee.engine.skip_update();
    means[static_cast<std::size_t>(world.rank())] =
        trainee.engine.weights().held_buffers().front().tensor.clone();
  });
  CHECK(means[0].abs().sum().item<double>() > 0);
  CHECK(torch::equal(means[0], means[1]));
}

TEST_CASE("ranks: frozen parameters are shared out to nobody, and are not sent") {
  DistributedOptions options;
  options.strategy = GENERATE(RankStrategy::zero1, RankStrategy::zero2);
  // A backbone, most of the bytes, and a head of two equal layers.
  std::vector<NamedTensor> parameters{{"backbone", torch::zeros({1000})},
                                      {"head.0", torch::zeros({10}).requires_grad_()},
                                      {"head.1", torch::zeros({10}).requires_grad_()}};
  for (const int rank : {0, 1}) {
    CountingWorld world(rank, 2);
    RankSync sync(world, options);
    sync.take(parameters, {});
    CHECK(sync.updates("head.0") == (rank == 0));
    CHECK(sync.updates("head.1") == (rank == 1));
    sync.share_weights();
    CHECK(world.bytes_sent() == 2 * 10 * 4 / 2);  // half of the broadcasts start here
  }
}
