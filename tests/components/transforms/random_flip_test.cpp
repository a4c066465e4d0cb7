#include <catch2/catch_all.hpp>

#include "tests/support/images.hpp"

namespace runner {
namespace {

using testing::image_spec;
using testing::plain_pattern;
using testing::transform;
using testing::transformed;

TEST_CASE("random_flip mirrors half of the images by default, left and right only") {
  const auto flip = transform("random_flip", {}, image_spec(3, 6, 7));
  const torch::Tensor image = plain_pattern(3, 6, 7);
  int mirrored = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const torch::Tensor result = transformed(*flip, 3, 6, 7, seed);
    const bool changed = !torch::equal(result, image);
    if (changed) REQUIRE(torch::equal(result, image.flip({2})));
    mirrored += changed;
  }
  CHECK(std::abs(mirrored - 500) < 60);
  CHECK(flip->training_only());
}

TEST_CASE("random_flip: probabilities of 0 and 1 are certain") {
  const auto flip = transform("random_flip", {{"horizontal", 0}, {"vertical", 1}}, image_spec(3, 6, 7));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    REQUIRE(torch::equal(transformed(*flip, 3, 6, 7, seed), plain_pattern(3, 6, 7).flip({1})));
  }
}

}  // namespace
}  // namespace runner
