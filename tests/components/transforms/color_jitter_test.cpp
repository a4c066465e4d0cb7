#include <catch2/catch_all.hpp>

#include "components/transforms/color.hpp"
#include "tests/components/transforms/reference.hpp"
#include "tests/support/images.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::image_spec;
using testing::reference;
using testing::transform;
using testing::transformed;

using Adjust = void (*)(const ColorPlanes&, double);

// By how much the farthest byte is off.
int distance(Adjust adjust, double amount, const std::string& name) {
  auto pixels = testing::pattern(3, 6, 9);
  adjust({pixels.data(), 3, 6 * 9}, amount);
  const auto result = torch::from_blob(pixels.data(), {3, 6, 9}, torch::kUInt8).to(torch::kInt32);
  return (result - reference(name).to(torch::kInt32)).abs().max().item<int>();
}

TEST_CASE("color_jitter: each adjustment equals the formula in PyTorch") {
  const auto [factor, text] = GENERATE(std::pair{0.4, "0.4"}, std::pair{1.7, "1.7"});
  CHECK(distance(&adjust_brightness, factor, std::string("brightness_") + text) == 0);
  CHECK(distance(&adjust_contrast, factor, std::string("contrast_") + text) == 0);
  CHECK(distance(&adjust_saturation, factor, std::string("saturation_") + text) == 0);
}

TEST_CASE("color_jitter: hue turns as Python's colorsys does, to one step of rounding") {
  CHECK(distance(&adjust_hue, -0.3, "hue_-0.3") <= 1);
  CHECK(distance(&adjust_hue, 0.17, "hue_0.17") <= 1);
  CHECK(distance(&adjust_hue, 0.5, "hue_0.5") <= 1);
  auto pixels = testing::pattern(3, 6, 9);
  adjust_hue({pixels.data(), 3, 6 * 9}, 0);
  CHECK(pixels == testing::pattern(3, 6, 9));
}

TEST_CASE("color_jitter draws within its ranges and repeats with its seed") {
  const auto jitter = transform("color_jitter", {{"brightness", 0.5}}, image_spec(3, 6, 9));
  const double plain = testing::plain_pattern(3, 6, 9).mean().item<double>();
  double darkest = 9, brightest = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const double factor = transformed(*jitter, 3, 6, 9, seed).mean().item<double>() / plain;
    darkest = std::min(darkest, factor), brightest = std::max(brightest, factor);
  }
  CHECK_THAT(darkest, Catch::Matchers::WithinAbs(0.5, 0.03));
  CHECK((brightest > 1.2 && brightest < 1.5));  // clipped at white
  CHECK(torch::equal(transformed(*jitter, 3, 6, 9, 5), transformed(*jitter, 3, 6, 9, 5)));
}

TEST_CASE("color_jitter applies all four, differently for every seed") {
  const auto jitter =
      transform("color_jitter", {{"brightness", 0.4}, {"contrast", 0.4}, {"saturation", 0.4}, {"hue", 0.1}},
                image_spec(3, 6, 9));
  CHECK(torch::equal(transformed(*jitter, 3, 6, 9, 1), transformed(*jitter, 3, 6, 9, 1)));
  CHECK_FALSE(torch::equal(transformed(*jitter, 3, 6, 9, 1), transformed(*jitter, 3, 6, 9, 2)));
}

TEST_CASE("color_jitter: what cannot have an effect is an error") {
  CHECK_THROWS_WITH(transform("color_jitter", {}, image_spec(3, 6, 9)), ContainsSubstring("nothing to do"));
  CHECK_THROWS_WITH(transform("color_jitter", {{"hue", 0.2}}, image_spec(1, 6, 9)),
                    ContainsSubstring("no hue"));
  CHECK_NOTHROW(transform("color_jitter", {{"contrast", 0.2}}, image_spec(1, 6, 9)));
}

}  // namespace
}  // namespace runner
