#include <catch2/catch_all.hpp>

#include "tests/support/images.hpp"

namespace runner {
namespace {

using testing::image_spec;
using testing::plain_pattern;
using testing::transform;
using testing::transformed;

TEST_CASE("center_crop keeps the middle; halves are rounded to even, as Python does for torchvision") {
  const auto crop = transform("center_crop", {{"height", 4}, {"width", 6}}, image_spec(3, 7, 11));
  // round(1.5) is 2, round(2.5) is 2
  CHECK(torch::equal(transformed(*crop, 3, 7, 11), plain_pattern(3, 7, 11).narrow(1, 2, 4).narrow(2, 2, 6)));
  CHECK(crop->output(image_spec(3, -1, -1)).input_shape == std::vector<std::int64_t>{3, 4, 6});
  CHECK_FALSE(crop->training_only());
}

TEST_CASE("center_crop puts a black border around a smaller image, the odd pixel at the end") {
  const auto crop = transform("center_crop", {{"size", 8}}, image_spec(3, 5, 6));
  CHECK(torch::equal(transformed(*crop, 3, 5, 6),
                     torch::constant_pad_nd(plain_pattern(3, 5, 6), {1, 1, 1, 2})));
}

}  // namespace
}  // namespace runner
