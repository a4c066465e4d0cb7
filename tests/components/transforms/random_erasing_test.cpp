#include <catch2/catch_all.hpp>

#include "tests/support/images.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::image_spec;
using testing::plain_pattern;
using testing::Setting;
using testing::transform;
using testing::transformed;

TEST_CASE("random_erasing blanks one rectangle of the asked share and shape, in the numbers the model sees") {
  const auto erasing =
      transform("random_erasing", {{"p", 1}, {"value", Setting::list({-7, -8, -9})}}, image_spec(3, 32, 32));
  const torch::Tensor image = plain_pattern(3, 32, 32);
  double smallest = 1, largest = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const torch::Tensor result = transformed(*erasing, 3, 32, 32, seed);
    const torch::Tensor erased = result[0] == -7;
    REQUIRE(torch::equal(erased, result[1] == -8));
    REQUIRE(torch::equal(erased, result[2] == -9));
    REQUIRE(torch::equal(torch::where(erased, image, result), image));
    const auto height = erased.any(1).sum().item<double>(), width = erased.any(0).sum().item<double>();
    REQUIRE(erased.sum().item<double>() == height * width);  // a whole rectangle
    const double share = height * width / 1024;
    smallest = std::min(smallest, share), largest = std::max(largest, share);
  }
  CHECK((smallest > 0.01 && smallest < 0.04));
  CHECK((largest > 0.29 && largest < 0.36));
}

TEST_CASE("random_erasing: p is the share of images; noise is an alternative to a value") {
  const auto erasing = transform("random_erasing", {{"p", 0.25}, {"noise", true}}, image_spec(1, 16, 16));
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    changed += !torch::equal(transformed(*erasing, 1, 16, 16, seed), plain_pattern(1, 16, 16));
  }
  CHECK(std::abs(changed - 250) < 50);
  CHECK_THROWS_WITH(
      transform("random_erasing", {{"noise", true}, {"value", Setting::list({1})}}, image_spec(1, 8, 8)),
      ContainsSubstring("no effect with noise"));
  CHECK_THROWS_WITH(transform("random_erasing", {{"value", Setting::list({1, 2})}}, image_spec(3, 8, 8)),
                    ContainsSubstring("3 channels"));
}

}  // namespace
}  // namespace runner
