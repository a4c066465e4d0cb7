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

TEST_CASE("normalize equals PyTorch's arithmetic to the last bit") {
  const std::vector<double> mean{0.4914, 0.4822, 0.4465}, deviation{0.2023, 0.1994, 0.2010};
  const auto expected = plain_pattern(3, 16, 16)
                            .sub(torch::tensor(mean, torch::kFloat32).view({3, 1, 1}))
                            .div(torch::tensor(deviation, torch::kFloat32).view({3, 1, 1}));
  SECTION("with given numbers") {
    const auto normalize = transform(
        "normalize",
        {{"mean", Setting::list({0.4914, 0.4822, 0.4465})}, {"std", Setting::list({0.2023, 0.1994, 0.2010})}},
        image_spec(3, 16, 16));
    CHECK(torch::equal(transformed(*normalize, 3, 16, 16), expected));
  }
  SECTION("with the dataset's own") {
    DataSpec spec = image_spec(3, 16, 16);
    spec.mean = mean;
    spec.deviation = deviation;
    CHECK(torch::equal(transformed(*transform("normalize", {}, spec), 3, 16, 16), expected));
  }
}

TEST_CASE("normalize: one number serves all channels; without it pixels are 0 to 1") {
  const auto normalize = transform(
      "normalize", {{"mean", Setting::list({0.5})}, {"std", Setting::list({0.5})}}, image_spec(3, 4, 4));
  CHECK(torch::equal(transformed(*normalize, 3, 4, 4), plain_pattern(3, 4, 4).sub(0.5).div(0.5)));
  CHECK_FALSE(normalize->training_only());
}

TEST_CASE("normalize: numbers that are missing, do not fit or cannot be") {
  const DataSpec spec = image_spec(3, 4, 4);
  CHECK_THROWS_WITH(transform("normalize", {}, spec), ContainsSubstring("no mean and std of its own"));
  CHECK_THROWS_WITH(transform("normalize", {{"mean", Setting::list({0.5})}}, spec),
                    ContainsSubstring("given together"));
  CHECK_THROWS_WITH(
      transform("normalize", {{"mean", Setting::list({0.5})}, {"std", Setting::list({0.0})}}, spec),
      ContainsSubstring("above 0"));
  CHECK_THROWS_WITH(
      transform("normalize", {{"mean", Setting::list({0.5, 0.5})}, {"std", Setting::list({1.0, 1.0})}}, spec),
      ContainsSubstring("the images have 3 channels"));
}

}  // namespace
}  // namespace runner
