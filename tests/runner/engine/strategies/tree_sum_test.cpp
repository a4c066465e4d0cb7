#include "runner/engine/strategies/tree_sum.hpp"

#include <catch2/catch_all.hpp>

#include "runner/engine/strategies/shard_sums.hpp"
#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("tree sum: the same bits on any number of ranks, and not those of adding one after the other") {
  constexpr std::int64_t shards = 8;
  const auto shard = [](std::int64_t number) {
    return (torch::arange(1000, torch::kFloat) * static_cast<float>(number + 1)).sin();
  };
  World alone;
  TreeSum tree(alone);
  torch::Tensor in_order = torch::zeros(1000);
  for (std::int64_t i = 0; i < shards; ++i) {
    tree.add(shard(i));
    in_order += shard(i);
  }
  const torch::Tensor expected = tree.total("a test");
  CHECK(torch::allclose(expected, in_order, 1e-4, 1e-5));
  CHECK_FALSE(torch::equal(expected, in_order));  // else this test could not fail

  for (const int ranks : {2, 4, 8}) {
    on_ranks(ranks, [&](World& world) {
      TreeSum own(world);
      const std::int64_t count = shards / ranks;
      for (std::int64_t i = 0; i < count; ++i) own.add(shard(world.rank() * count + i));
      if (!torch::equal(own.total("a test"), expected)) throw std::logic_error("other bits");
    });
  }
}

TEST_CASE("tree sum: what cannot be shared out is refused") {
  CHECK_NOTHROW(TreeSum::require(8, 8));
  for (const auto& [shards, ranks] : std::vector<std::pair<int, int>>{{8, 3}, {6, 2}, {4, 8}, {0, 1}})
    CHECK_THROWS_WITH(TreeSum::require(shards, ranks), ContainsSubstring("powers of two"));
}

TEST_CASE("tree sum: tensors in double precision stay so") {
  World alone;
  std::vector<torch::Tensor> parameters{torch::ones({2}, torch::kDouble), torch::ones({2})};
  ShardedGradients gradients(parameters, alone);
  const double exact = 1 + 1e-12;  // rounded to 1 in single precision
  parameters[0].mutable_grad() = torch::full({2}, exact, torch::kDouble);
  parameters[1].mutable_grad() = torch::full({2}, 0.5);
  gradients.end_shard();
  gradients.finish();
  CHECK(parameters[0].grad()[0].item<double>() == exact);
  CHECK(parameters[1].grad()[0].item<double>() == 0.5);
}
