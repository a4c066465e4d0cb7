#include "components/transforms/mixing.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/images.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::image_spec;
using testing::transform;

Batch batch_of(std::int64_t examples, torch::MemoryFormat format) {
  torch::manual_seed(examples);
  return {torch::randn({examples, 3, 8, 10}).contiguous(format),
          torch::arange(examples, torch::kInt64).remainder(10)};
}

TEST_CASE("mixup mixes inputs and targets alike with the example before, as torchvision does") {
  const auto format = GENERATE(torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast);
  const std::int64_t examples = GENERATE(1, 2, 7);
  const auto mixup = transform("mixup", {{"alpha", 0.4}}, image_spec(3, 8, 10));
  const Batch before = batch_of(examples, format);
  Batch batch = batch_of(examples, format);
  ExampleRandom random(5);
  mixup->apply_to_batch(batch, random);

  const torch::Tensor shares = torch::one_hot(before.target, 10).to(torch::kFloat32);
  const auto share = examples == 1 ? 1.0F : batch.target[0][0].item<float>();
  CHECK(
      torch::allclose(batch.input, share * before.input + (1 - share) * before.input.roll(1, 0), 1e-6, 1e-6));
  CHECK(torch::allclose(batch.target, share * shares + (1 - share) * shares.roll(1, 0), 1e-6, 1e-6));
  CHECK(batch.target.sum(1).allclose(torch::ones(examples)));
  if (examples > 1) CHECK((share > 0 && share < 1));
}

TEST_CASE("cutmix pastes one rectangle from the example before, and mixes targets by its area") {
  const auto format = GENERATE(torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast);
  const auto cutmix = transform("cutmix", {}, image_spec(3, 8, 10));
  int pasted_some = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Batch before = batch_of(5, format);
    Batch batch = batch_of(5, format);
    ExampleRandom random(seed);
    cutmix->apply_to_batch(batch, random);
    const torch::Tensor changed = (batch.input != before.input)[0][0];
    const torch::Tensor expected = torch::where(changed, before.input.roll(1, 0), before.input);
    REQUIRE(torch::equal(batch.input, expected));
    const auto height = changed.any(1).sum().item<std::int64_t>(),
               width = changed.any(0).sum().item<std::int64_t>();
    REQUIRE(changed.sum().item<std::int64_t>() == height * width);
    const auto share = 1.0F - static_cast<float>(height * width) / 80.0F;
    const torch::Tensor shares = torch::one_hot(before.target, 10).to(torch::kFloat32);
    REQUIRE(torch::allclose(batch.target, share * shares + (1 - share) * shares.roll(1, 0), 1e-6, 1e-6));
    pasted_some += height * width > 0;
  }
  CHECK(pasted_some > 30);
}

TEST_CASE("mixing: shares follow the Beta distribution") {
  const double alpha = GENERATE(5e-324, 0.001, 0.2, 1.0, 4.0);
  ExampleRandom random(9);
  double sum = 0, square = 0;
  for (int i = 0; i < 50000; ++i) {
    const double share = draw_share(random, alpha);
    REQUIRE((share >= 0 && share <= 1));
    sum += share;
    square += (share - 0.5) * (share - 0.5);
  }
  CHECK_THAT(sum / 50000, Catch::Matchers::WithinAbs(0.5, 0.01));
  CHECK_THAT(square / 50000, Catch::Matchers::WithinRel(1.0 / (4 * (2 * alpha + 1)), 0.03));
}

TEST_CASE("mixing: targets become shares even where a batch is left alone, so that all batches are alike") {
  const auto mixup = transform("mixup", {{"p", 0}}, image_spec(3, 8, 10));
  Batch batch = batch_of(4, torch::MemoryFormat::Contiguous);
  ExampleRandom random(1);
  mixup->apply_to_batch(batch, random);
  CHECK(torch::equal(batch.target, torch::eye(4, 10)));
  CHECK(torch::equal(batch.input, batch_of(4, torch::MemoryFormat::Contiguous).input));
  const DataSpec after = mixup->output(image_spec(3, 8, 10));
  CHECK(after.target_type == torch::kFloat32);
  CHECK(after.target_shape == std::vector<std::int64_t>{10});
  CHECK_THROWS_WITH(transform("cutmix", {}, image_spec(3, 8, 10, 0)), ContainsSubstring("classes"));
}

}  // namespace
}  // namespace runner
