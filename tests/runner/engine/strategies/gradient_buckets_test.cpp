#include "runner/engine/strategies/gradient_buckets.hpp"

#include <torch/nn.h>

#include <catch2/catch_all.hpp>

#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

struct Net : torch::nn::Module {
  Net()
      : convolution(register_module("convolution", torch::nn::Conv2d(3, 4, 3))),
        linear(register_module("linear", torch::nn::Linear(4, 2))),
        unused(register_module("unused", torch::nn::Linear(4, 2))) {
    for (torch::Tensor& parameter : parameters()) {
      const torch::NoGradGuard no_grad;
      parameter.copy_(torch::arange(parameter.numel(), torch::kFloat).view(parameter.sizes()).sin());
      if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
    }
  }

  torch::Tensor forward(const torch::Tensor& input, bool with_unused = false) {
    const torch::Tensor features = torch::relu(convolution(input)).mean({2, 3});
    return (with_unused ? unused(features) : linear(features)).pow(2).sum();
  }

  torch::nn::Conv2d convolution;
  torch::nn::Linear linear, unused;
};

torch::Tensor input(std::int64_t first, std::int64_t count) {
  return torch::arange(first * 48, (first + count) * 48, torch::kFloat).view({count, 3, 4, 4}).cos();
}

}  // namespace

TEST_CASE("gradient buckets: the sums of all ranks are the gradients of one") {
  const int size = GENERATE(1, 2, 3, 4);
  const std::int64_t bytes = GENERATE(1, 200, 1 << 20);
  Net alone;
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch)
    alone.forward(input(micro_batch * 12, 12)).backward();

  on_ranks(size, [&](World& world) {
    Net net;
    GradientBuckets buckets(world, net.parameters(), {bytes, bytes});
    for (int round = 0; round < 2; ++round) {
      const std::int64_t share = 12 / size;
      net.forward(input(world.rank() * share, share)).backward();
      buckets.begin_last_backward();
      net.forward(input(12 + world.rank() * share, share)).backward();
      buckets.finish();
      for (const auto& item : net.named_parameters()) {
        const torch::Tensor expected = alone.named_parameters()[item.key()].grad();
        const torch::Tensor& gradient = item.value().grad();
        require(gradient.defined() == expected.defined(), item.key() + " has a gradient");
        if (!expected.defined()) continue;
        require(torch::allclose(gradient, expected, 1e-5, 1e-6), item.key());
        if (gradient.dim() == 4)
          require(gradient.is_contiguous(torch::MemoryFormat::ChannelsLast), "keeps its layout");
      }
      for (torch::Tensor& parameter : net.parameters()) parameter.mutable_grad().reset();
    }
  });
}

TEST_CASE("gradient buckets: ranks may use different parameters, or have nothing to compute") {
  on_ranks(3, [](World& world) {
    Net net;
    GradientBuckets buckets(world, net.parameters(), {100, 100});
    buckets.begin_last_backward();
    if (world.rank() == 0) net.forward(input(0, 2)).backward();
    if (world.rank() == 1) net.forward(input(2, 2), true).backward();
    buckets.finish();
    Net alone;
    alone.forward(input(0, 2)).backward();
    alone.forward(input(2, 2), true).backward();
    for (const auto& item : net.named_parameters())
      require(torch::allclose(item.value().grad(), alone.named_parameters()[item.key()].grad(), 1e-5, 1e-6),
              item.key());
  });
}

TEST_CASE("gradient buckets: other numbers go along, also from a rank that has no gradients") {
  const std::int64_t bytes = GENERATE(1, 1 << 20);
  on_ranks(3, [&](World& world) {
    Net net;
    GradientBuckets buckets(world, net.parameters(), {bytes, bytes});
    require(buckets.carries(GradientBuckets::room) && !buckets.carries(GradientBuckets::room + 1), "room");
    for (int round = 1; round < 4; ++round) {
      buckets.send_along(torch::tensor({1.5 * world.rank(), 0.25 * round}, torch::kFloat64));
      buckets.begin_last_backward();
      if (world.rank() != 1) net.forward(input(0, 2)).backward();
      buckets.finish();
      require(torch::equal(buckets.take_sums_along(), torch::tensor({4.5, 0.75 * round}, torch::kFloat64)),
              "sums");
      Net alone;
      alone.forward(input(0, 2)).backward();
      require(torch::allclose(net.linear->weight.grad(), 2 * alone.linear->weight.grad()), "gradients");
      for (torch::Tensor& parameter : net.parameters()) parameter.mutable_grad().reset();
    }
    BucketOptions half, owned;
    half.wire = torch::kHalf;
    owned.owners.assign(net.parameters().size(), 0);
    require(!GradientBuckets(world, Net().parameters(), half).carries(1), "too few digits");
    require(!GradientBuckets(world, Net().parameters(), owned).carries(1), "only one rank gets the sums");
  });
}

TEST_CASE("gradient buckets: frozen parameters keep no gradient") {
  on_ranks(2, [](World& world) {
    Net net;
    GradientBuckets buckets(world, net.parameters(), {1 << 20, 1 << 20});
    net.convolution->weight.set_requires_grad(false);
    buckets.begin_last_backward();
    net.forward(input(world.rank(), 1)).backward();
    buckets.finish();
    require(!net.convolution->weight.grad().defined(), "frozen");
    require(net.linear->weight.grad().defined(), "trained");
  });
}

TEST_CASE("gradient buckets: a shorter format halves the bytes and keeps its own precision") {
  on_ranks(2, [](World& world) {
    Net net, same;
    BucketOptions half;
    half.wire = torch::kHalf;
    GradientBuckets plain(world, net.parameters(), {}), compressed(world, same.parameters(), half);
    net.forward(input(world.rank() * 2, 2)).backward();
    same.forward(input(world.rank() * 2, 2)).backward();
    plain.finish();
    compressed.finish();
    require(plain.bytes_sent() == 2 * compressed.bytes_sent(), "bytes");
    require(torch::allclose(net.linear->weight.grad(), same.linear->weight.grad(), 2e-3, 1e-3), "values");
    require(!torch::equal(net.linear->weight.grad(), same.linear->weight.grad()), "it was compressed");
  });
}

TEST_CASE("gradient buckets: with owners, each rank keeps the sums of its own parameters only") {
  const int size = GENERATE(2, 3);
  Net alone;
  alone.forward(input(0, 6)).backward();
  on_ranks(size, [&](World& world) {
    Net net;
    BucketOptions options{100, 100};
    const auto count = net.parameters().size();
    for (std::size_t i = 0; i < count; ++i)
      options.owners.push_back(static_cast<int>(i * static_cast<std::size_t>(size) / count));
    GradientBuckets buckets(world, net.parameters(), options);
    for (int round = 0; round < 2; ++round) {
      buckets.begin_last_backward();
      net.forward(input(world.rank() * 6 / size, 6 / size)).backward();
      buckets.finish();
      for (std::size_t i = 0; i < count; ++i) {
        const torch::Tensor gradient = net.parameters()[i].grad(), expected = alone.parameters()[i].grad();
        const bool kept = options.owners[i] == world.rank() && expected.defined();
        require(gradient.defined() == kept, "kept by its owner alone");
        if (kept) require(torch::allclose(gradient, expected, 1e-5, 1e-6), "the sum");
      }
      for (torch::Tensor& parameter : net.parameters()) parameter.mutable_grad().reset();
    }
  });
}

TEST_CASE("gradient buckets: sparse gradients are summed like others") {
  on_ranks(2, [](World& world) {
    torch::nn::Embedding embedding(torch::nn::EmbeddingOptions(4, 2).sparse(true));
    GradientBuckets buckets(world, embedding->parameters(), {});
    buckets.begin_last_backward();
    embedding(torch::tensor({std::int64_t{world.rank()}, std::int64_t{2}})).sum().backward();
    buckets.finish();
    const torch::Tensor expected = torch::tensor({{1.0F, 1.0F}, {1.0F, 1.0F}, {2.0F, 2.0F}, {0.0F, 0.0F}});
    require(torch::equal(embedding->weight.grad(), expected), "the sum");
  });
}

// As a backward pass inside the backward pass does.
TEST_CASE("gradient buckets: a parameter that is completed twice is summed, or refused if it was sent") {
  on_ranks(2, [](World& world) {
    torch::Tensor first = torch::ones({3}).requires_grad_(), second = torch::ones({3}).requires_grad_();
    const auto use = [&](const torch::Tensor& parameter) {
      (parameter * (1.0 + world.rank())).sum().backward();
    };
    {
      GradientBuckets buckets(world, {first, second}, {1 << 20, 1 << 20});
      buckets.begin_last_backward();
      use(first);
      use(first);
      {
        const torch::AutoGradMode keeps_history(true);  // then it is not added in place
        (first * first).sum().backward({}, /*keep_graph=*/true, /*create_graph=*/true);
      }
      use(second);
      buckets.finish();
      require(torch::equal(first.grad(), torch::full({3}, 2 * 3.0 + 2 * 2)), "all three");
      require(torch::equal(second.grad(), torch::full({3}, 3.0)), "one");
    }
    first.mutable_grad().reset();
    second.mutable_grad().reset();
    GradientBuckets buckets(world, {first, second}, {1, 1});  // sent at once
    buckets.begin_last_backward();
    use(second);
    std::string message;
    try {
      use(second);
    } catch (const std::exception& error) {
      message = error.what();
    }
    require(message.find("a backward pass runs inside another one") != std::string::npos, message);
    use(first);
    buckets.finish();
  });
}
