// Against PyTorch's powerSGD_hook on two Gloo ranks: tests/parity/powersgd_reference.py made the numbers.
#include "runner/engine/strategies/power_sgd.hpp"

#include <torch/nn.h>

#include <catch2/catch_all.hpp>

#include "runner/engine/strategies/pack_state.hpp"
#include "tests/support/rank_training.hpp"
#include "tests/support/reference_numbers.hpp"
#include "tests/support/wave.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

const std::map<std::string, std::vector<std::int64_t>> shapes{{"matrix", {12, 10}}, {"kernel", {6, 2, 4, 3}}};

std::vector<NamedTensor> parameters() {
  std::vector<NamedTensor> all;
  for (const auto& [name, shape] : shapes) all.push_back({name, torch::zeros(shape).requires_grad_()});
  return all;
}

// This rank's part of the mean, as the reference has it.
void set_gradients(const std::vector<NamedTensor>& parameters, int rank, int ranks, int update) {
  for (const NamedTensor& parameter : parameters) {
    const double index = parameter.name == "matrix" ? 0 : 1;
    parameter.tensor.mutable_grad() =
        wave(parameter.tensor.sizes().vec(), 1.0 + 3.1 * rank + 0.9 * update + 2.0 * index).exp() / ranks;
  }
}

torch::Tensor from(const std::vector<double>& numbers, at::IntArrayRef shape) {
  return torch::tensor(numbers, torch::kDouble).to(torch::kFloat).view(shape);
}

}  // namespace

TEST_CASE("powersgd: as PyTorch computes it") {
  const ReferenceNumbers expected("powersgd.txt");
  on_ranks(2, [&](World& world) {
    PowerSgd compression(world, 2);
    compression.load({.tensors = {{"matrix.q", from(expected["matrix.q"], {10, 2})},
                                  {"matrix.error.0", torch::zeros({12, 10})},
                                  {"matrix.error.1", torch::zeros({12, 10})},
                                  {"kernel.q", from(expected["kernel.q"], {24, 2})},
                                  {"kernel.error.0", torch::zeros({6, 24})},
                                  {"kernel.error.1", torch::zeros({6, 24})}},
                      .integers = {{"ranks", 2}}});
    const auto all = parameters();
    for (int update = 0; update < 3; ++update) {
      set_gradients(all, world.rank(), 2, update);
      compression.reduce(all);
      for (const auto& [name, tensor] : all) {
        const torch::Tensor wanted = from(expected[name + "." + std::to_string(update)], tensor.sizes());
        require(torch::allclose(tensor.grad(), wanted, 1e-4, 1e-5), name);
        require(!torch::allclose(wanted, wave(tensor.sizes().vec(), 1).exp()),
                "the reference is no constant");
      }
    }
  });
}

TEST_CASE("powersgd: only what becomes smaller is compressed, and the bytes are those of P and Q") {
  World alone;
  const PowerSgd two(alone, 2);
  CHECK(two.compresses(torch::empty({12, 10})));
  CHECK(two.compresses(torch::empty({6, 2, 4, 3})));
  CHECK_FALSE(two.compresses(torch::empty({120})));
  CHECK_FALSE(two.compresses(torch::empty({5, 5})));
  on_ranks(2, [](World& world) {
    PowerSgd compression(world, 2);
    const auto all = parameters();
    set_gradients(all, world.rank(), 2, 0);
    compression.reduce(all);
    constexpr std::int64_t factors = 2 * (12 + 10) + 2 * (6 + 24), which_are_there = 2;
    require(compression.bytes_sent() == 4 * (factors + which_are_there), "bytes");
  });
}

TEST_CASE("powersgd: what is left out of one gradient is in the next ones") {
  // The same gradient again and again: what has arrived comes ever closer to what was sent.
  on_ranks(2, [](World& world) {
    PowerSgd compression(world, 1);
    const auto all = parameters();
    std::vector<torch::Tensor> arrived(all.size());
    double first = 0, last = 0;
    for (int update = 0; update < 200; ++update) {
      set_gradients(all, world.rank(), 2, 0);
      compression.reduce(all);
      double apart = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const torch::Tensor sum = all[i].tensor.grad();
        arrived[i] = arrived[i].defined() ? arrived[i] + sum : sum.clone();
        const double index = all[i].name == "matrix" ? 0 : 1;
        torch::Tensor exact = torch::zeros_like(sum);
        for (int rank = 0; rank < 2; ++rank)
          exact += wave(sum.sizes().vec(), 1.0 + 3.1 * rank + 2.0 * index).exp() / 2;
        apart += (arrived[i] / (update + 1) - exact).norm().item<double>();
      }
      if (update == 0) first = apart;
      last = apart;
    }
    require(last < first / 10, "the mean of what arrived");
  });
}

TEST_CASE("powersgd: its state goes on with the same bits, and to rounding on another number of ranks") {
  State saved;
  std::vector<torch::Tensor> went_on(2);
  on_ranks(2, [&](World& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    PowerSgd compression(world, 1);
    const auto all = parameters();
    for (int update = 0; update < 2; ++update) {
      set_gradients(all, world.rank(), 2, update);
      compression.reduce(all);
    }
    State all_parts;  // as a checkpoint holds them
    for (const std::string& part : world.gather_texts(pack(compression.save()), "the parts")) {
      State of_rank = unpack(part);
      all_parts.tensors.merge(of_rank.tensors);
      all_parts.integers.merge(of_rank.integers);
    }
    if (rank == 0) saved = all_parts;
    set_gradients(all, world.rank(), 2, 2);
    compression.reduce(all);
    went_on[rank] = all[1].tensor.grad().clone();
  });
  REQUIRE_FALSE(torch::equal(saved.tensors.at("matrix.error.0"), saved.tensors.at("matrix.error.1")));
  for (const int ranks : {2, 4}) {
    on_ranks(ranks, [&](World& world) {
      PowerSgd compression(world, 1);
      compression.load(saved.copy());
      const auto all = parameters();
      // Four ranks share out the gradients of two.
      set_gradients(all, world.rank() % 2, ranks, 2);
      compression.reduce(all);
      const torch::Tensor now = all[1].tensor.grad();
      require(ranks == 2 ? torch::equal(now, went_on[0]) : torch::allclose(now, went_on[0], 1e-4, 1e-5),
              "the next gradient");
    });
  }
}

TEST_CASE("powersgd: ranks may lack gradients, and what is not finite does not stay") {
  on_ranks(2, [](World& world) {
    PowerSgd compression(world, 1);
    const auto all = parameters();
    compression.reduce(all);
    require(!all[0].tensor.grad().defined(), "nobody has one");
    if (world.rank() == 0) set_gradients(all, 0, 1, 0);
    compression.reduce(all);
    require(all[0].tensor.grad().defined() && all[0].tensor.grad().abs().sum().item<double>() > 0,
            "one has one");
    set_gradients(all, world.rank(), 2, 0);
    if (world.rank() == 1) all[0].tensor.mutable_grad().fill_(NAN);
    compression.reduce(all);
    require(!all[0].tensor.grad().isfinite().all().item<bool>(), "all learn of it");
    set_gradients(all, world.rank(), 2, 0);
    compression.reduce(all);
    require(all[0].tensor.grad().isfinite().all().item<bool>(), "the next one is finite again");
  });
}

TEST_CASE("powersgd: an engine trains with it, ranks stay equal, and fewer bytes travel") {
  Case about;
  about.distributed.compression = Compression::powersgd;
  about.distributed.strategy = GENERATE(RankStrategy::ddp, RankStrategy::zero1);
  Case exact;
  const auto compressed = train_on(3, about, 20), plain = train_on(3, exact, 20);
  for (const Trained& rank : compressed) CHECK(same_bits(rank, compressed[0]));
  CHECK_FALSE(same_bits(compressed[0], plain[0]));
  CHECK(compressed[0].losses.back() < 0.9 * compressed[0].losses.front());
}

// The meta device stands for a GPU.
TEST_CASE("powersgd: a loaded state goes to the device of the parameters") {
  World alone;
  PowerSgd compression(alone, 1);
  compression.load(
      {.tensors = {{"matrix.q", torch::ones({10, 1})}, {"matrix.error.0", torch::ones({12, 10})}},
       .integers = {{"ranks", 1}}});
  const torch::Tensor matrix = torch::zeros({12, 10}, torch::kMeta).requires_grad_();
  matrix.mutable_grad() = torch::zeros({12, 10}, torch::kMeta);
  compression.reduce({{"matrix", matrix}});
  for (const auto& [name, tensor] : compression.save().tensors) {
    INFO(name);
    CHECK(tensor.is_meta());
  }
}
