#include <catch2/catch_all.hpp>

#include "tests/support/datasets.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("synthetic images have the shape asked for, differ, and take transforms") {
  const Splits splits =
      open("synthetic", {{"shape", Setting::list({3, 40, 30})},
                         {"classes", 7},
                         {"transform", Setting::list({Setting::table({{"name", "normalize"}})})}});
  const Batch batch = read(*splits.train, {0, 1, 49'999});
  CHECK(batch.input.sizes() == torch::IntArrayRef({3, 3, 40, 30}));
  CHECK_FALSE(torch::equal(batch.input[0], batch.input[1]));
  CHECK(batch.input.mean().item<double>() == Approx(0).margin(0.05));
  CHECK(batch.input.std().item<double>() == Approx(1).margin(0.05));
  CHECK(torch::equal(batch.input, read(*splits.train, {0, 1, 49'999}).input));
}

TEST_CASE("synthetic numbers take any shape, and labels cover the classes") {
  const std::int64_t size = GENERATE(1, 12);
  const Splits splits =
      open("synthetic", {{"shape", Setting::list({size, 5})}, {"classes", 4}, {"train", 1000}});
  std::vector<std::int64_t> all(1000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  const Batch batch = read(*splits.train, all);
  CHECK(batch.input.sizes() == torch::IntArrayRef({1000, size, 5}));
  CHECK(batch.input.std().item<double>() == Approx(1).margin(0.1));
  const torch::Tensor counts = torch::bincount(batch.target);
  CHECK(counts.size(0) == 4);
  CHECK(counts.min().item<std::int64_t>() > 180);
}

TEST_CASE("a shape of four dimensions is written right in any layout") {
  const Splits splits = open("synthetic", {{"shape", Setting::list({2, 4, 3})}});
  const Batch plain = read(*splits.eval, {3, 4});
  const Batch last = read(*splits.eval, {3, 4}, torch::MemoryFormat::ChannelsLast);
  CHECK(last.input.is_contiguous(torch::MemoryFormat::ChannelsLast));
  CHECK(torch::equal(plain.input, last.input));
}

TEST_CASE("constant content is the same in every example") {
  const auto shape = GENERATE(Setting::list({3, 8, 8}), Setting::list({6}));
  const Splits splits = open("synthetic", {{"shape", shape}, {"content", "constant"}});
  const Batch batch = read(*splits.train, {0, 77});
  CHECK(torch::equal(batch.input[0], batch.input[1]));
}

TEST_CASE("ten million examples cost no more memory than ten") {
  const Splits splits = open("synthetic", {{"train", 10'000'000}});
  CHECK(splits.train->size() == 10'000'000);
  CHECK_NOTHROW(read(*splits.train, {9'999'999}));
}

TEST_CASE("synthetic refuses what cannot be made") {
  CHECK_THROWS_WITH(open("synthetic", {{"shape", Setting::list({})}}),
                    ContainsSubstring("must not be empty"));
  CHECK_THROWS_WITH(open("synthetic", {{"shape", Setting::list({3, 0, 4})}}), ContainsSubstring("shape"));
  CHECK_THROWS_WITH(
      open("synthetic", {{"shape", Setting::list({100'000, 100'000, 100'000, 100'000, 100'000})}}),
      ContainsSubstring("more than 2^28"));
  CHECK_THROWS_WITH(open("synthetic", {{"classes", 0}}), ContainsSubstring("classes"));
}
