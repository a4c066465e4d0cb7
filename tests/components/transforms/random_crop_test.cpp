#include <catch2/catch_all.hpp>

#include <torch/nn/functional/padding.h>

#include <set>

#include "components/datasets/dataset.hpp"
#include "tests/support/images.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::image_spec;
using testing::plain_pattern;
using testing::transform;
using testing::transformed;

TEST_CASE("random_crop with padding takes each place of the padded image, and no other") {
  const auto crop = transform("random_crop", {{"padding", 2}, {"fill", 51}}, image_spec(3, 8, 8));
  const torch::Tensor padded = torch::constant_pad_nd(plain_pattern(3, 8, 8), {2, 2, 2, 2}, 51.0F / 255.0F);
  std::set<std::int64_t> places;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const torch::Tensor result = transformed(*crop, 3, 8, 8, seed);
    for (std::int64_t place = 0; place < 25; ++place) {
      if (torch::equal(result, padded.narrow(1, place / 5, 8).narrow(2, place % 5, 8))) places.insert(place);
    }
  }
  CHECK(places.size() == 25);  // each draw equals exactly one of them, or fewer would be found
  CHECK(crop->training_only());
}

TEST_CASE("random_crop: reflect, symmetric and edge padding equal PyTorch's and NumPy's") {
  const torch::Tensor image = plain_pattern(3, 5, 6);
  const auto found = [&](const char* mode, const torch::Tensor& padded) {
    const auto crop =
        transform("random_crop", {{"padding", 2}, {"height", 9}, {"width", 10}, {"padding_mode", mode}},
                  image_spec(3, 5, 6));
    return torch::equal(transformed(*crop, 3, 5, 6), padded);
  };
  namespace F = torch::nn::functional;
  CHECK(found("reflect", F::pad(image, F::PadFuncOptions({2, 2, 2, 2}).mode(torch::kReflect))));
  CHECK(found("edge", F::pad(image, F::PadFuncOptions({2, 2, 2, 2}).mode(torch::kReplicate))));
  // numpy.pad(range(5), 2, "symmetric") and of range(6)
  const torch::Tensor rows = torch::tensor({1, 0, 0, 1, 2, 3, 4, 4, 3}),
                      columns = torch::tensor({1, 0, 0, 1, 2, 3, 4, 5, 5, 4});
  CHECK(found("symmetric", image.index_select(1, rows).index_select(2, columns)));
}

TEST_CASE("random_crop: a smaller size changes the spec; a larger one needs padding") {
  const DataSpec spec = image_spec(3, 8, 10);
  CHECK(transform("random_crop", {{"size", 5}}, spec)->output(spec).input_shape ==
        std::vector<std::int64_t>{3, 5, 5});
  CHECK_THROWS_WITH(transform("random_crop", {{"size", 9}}, spec),
                    ContainsSubstring("larger than the images of 8 x 10"));
  const auto padding = transform("random_crop", {{"size", 12}, {"pad_if_needed", true}}, spec);
  CHECK(transformed(*padding, 3, 8, 10).sizes() == std::vector<std::int64_t>{3, 12, 12});
  const auto unknown = transform("random_crop", {{"size", 9}}, image_spec(3, -1, -1));
  CHECK_THROWS_AS(transformed(*unknown, 3, 8, 10), DataError);
  CHECK_THROWS_WITH(transform("random_crop", {}, image_spec(3, -1, -1)), ContainsSubstring("give the size"));
}

TEST_CASE("random_crop: settings of a padding that does not exist are refused") {
  const auto refused = [](const testing::Settings& settings, const std::string& why) {
    CHECK_THROWS_WITH(transform("random_crop", settings, image_spec(3, 8, 8)), ContainsSubstring(why));
  };
  refused({{"size", 4}, {"fill", 9}}, "\"fill\" has no effect without padding");
  refused({{"size", 4}, {"padding_mode", "edge"}}, "\"padding_mode\" has no effect without padding");
  refused({{"padding", 2}, {"fill", 9}, {"padding_mode", "edge"}}, "\"fill\" has no effect unless");
  CHECK_NOTHROW(
      transform("random_crop", {{"size", 4}, {"pad_if_needed", true}, {"fill", 9}}, image_spec(3, 8, 8)));
}

TEST_CASE("random_crop after normalize is refused only where its padding would be mistaken") {
  DataSpec spec = image_spec(3, 8, 8);
  spec.pixels_final = true;
  CHECK_THROWS_WITH(transform("random_crop", {{"padding", 2}}, spec), ContainsSubstring("before normalize"));
  CHECK_NOTHROW(transform("random_crop", {{"size", 4}}, spec));
}

}  // namespace
}  // namespace runner
