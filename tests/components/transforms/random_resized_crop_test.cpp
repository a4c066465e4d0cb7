#include <catch2/catch_all.hpp>

#include "components/transforms/random_area.hpp"
#include "tests/support/images.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::image_spec;
using testing::Setting;
using testing::Settings;
using testing::transform;
using testing::transformed;

TEST_CASE("random_resized_crop: area and shape stay within what was asked for, and use all of it") {
  ExampleRandom random(3);
  double smallest = 1, largest = 0, narrowest = 9, widest = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto part = random_area(random, 200, 300, {0.1, 0.6}, {0.5, 2.0});
    REQUIRE(part);
    REQUIRE((part->top >= 0 && part->left >= 0 && part->top + part->height <= 200 &&
             part->left + part->width <= 300));
    const double share = static_cast<double>(part->height * part->width) / (200 * 300);
    const double shape = static_cast<double>(part->width) / static_cast<double>(part->height);
    smallest = std::min(smallest, share), largest = std::max(largest, share);
    narrowest = std::min(narrowest, shape), widest = std::max(widest, shape);
  }
  CHECK_THAT(smallest, Catch::Matchers::WithinAbs(0.1, 0.01));
  CHECK_THAT(largest, Catch::Matchers::WithinAbs(0.6, 0.01));
  CHECK_THAT(narrowest, Catch::Matchers::WithinAbs(0.5, 0.03));
  CHECK_THAT(widest, Catch::Matchers::WithinAbs(2, 0.05));
}

TEST_CASE("random_resized_crop of the whole area and its own shape is a resize") {
  const DataSpec spec = image_spec(3, 13, 17);
  const Settings whole{{"height", 7},
                       {"width", 9},
                       {"scale", Setting::list({1, 1})},
                       {"ratio", Setting::list({17.0 / 13.0, 17.0 / 13.0})}};
  const auto crop = transform("random_resized_crop", whole, spec);
  const auto resize = transform("resize", {{"height", 7}, {"width", 9}}, spec);
  CHECK(torch::equal(transformed(*crop, 3, 13, 17), transformed(*resize, 3, 13, 17)));
}

TEST_CASE("random_resized_crop: where no draw fits it takes the middle") {
  const auto crop = transform("random_resized_crop",
                              {{"size", 4},
                               {"scale", Setting::list({1, 1})},
                               {"ratio", Setting::list({1, 1})},
                               {"interpolation", "nearest"}},
                              image_spec(3, 4, 20));
  CHECK(torch::equal(transformed(*crop, 3, 4, 20), testing::plain_pattern(3, 4, 20).narrow(2, 8, 4)));
}

TEST_CASE("random_resized_crop: ranges are two numbers, low first") {
  const DataSpec spec = image_spec(3, 8, 8);
  CHECK_THROWS_WITH(transform("random_resized_crop", {{"size", 4}, {"scale", Setting::list({0.5})}}, spec),
                    ContainsSubstring("two numbers"));
  CHECK_THROWS_WITH(
      transform("random_resized_crop", {{"size", 4}, {"scale", Setting::list({0.5, 1.5})}}, spec),
      ContainsSubstring("up to 1"));
  CHECK_THROWS_WITH(transform("random_resized_crop", {{"size", 4}, {"ratio", Setting::list({2, 1})}}, spec),
                    ContainsSubstring("from low to high"));
}

}  // namespace
}  // namespace runner
