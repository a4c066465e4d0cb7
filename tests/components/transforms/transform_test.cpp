#include <catch2/catch_all.hpp>

#include "components/transforms/transform.hpp"
#include "tests/support/images.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::image_spec;
using testing::part;
using testing::Setting;
using Shape = std::vector<std::int64_t>;

const auto normalize = [] {
  return part<TransformKind>("normalize", {{"mean", Setting::list({0.5})}, {"std", Setting::list({0.5})}});
};

TEST_CASE("pipeline: random transforms act in training only, unless the recipe says otherwise") {
  const auto pipeline = build_pipeline(
      {part<TransformKind>("random_flip"), part<TransformKind>("random_flip", {{"when", "always"}}),
       part<TransformKind>("center_crop", {{"size", 4}, {"when", "train"}}), normalize()},
      image_spec(3, 8, 8));
  CHECK((pipeline[0].training && !pipeline[0].evaluation));
  CHECK((pipeline[1].training && pipeline[1].evaluation));
  CHECK((pipeline[2].training && !pipeline[2].evaluation));
  CHECK((pipeline[3].training && pipeline[3].evaluation));
}

TEST_CASE("pipeline: training and evaluation may come to the same size by different ways") {
  const auto pipeline =
      build_pipeline({part<TransformKind>("random_resized_crop", {{"size", 24}}),
                      part<TransformKind>("resize", {{"size", 28}, {"when", "eval"}}),
                      part<TransformKind>("center_crop", {{"size", 24}, {"when", "eval"}}), normalize()},
                     image_spec(3, -1, -1));
  CHECK(after(pipeline, image_spec(3, -1, -1), true).input_shape == Shape{3, 24, 24});
  CHECK(after(pipeline, image_spec(3, -1, -1), false).input_shape == Shape{3, 24, 24});
  CHECK_FALSE(pipeline[1].training);
}

TEST_CASE("pipeline: an order that cannot be is an error that names the transform and its place") {
  CHECK_THROWS_WITH(
      build_pipeline({normalize(), part<TransformKind>("color_jitter", {{"hue", 0.1}})}, image_spec(3, 8, 8)),
      ContainsSubstring("dataset.transform.1 (color_jitter)") && ContainsSubstring("before normalize"));
  CHECK_THROWS_WITH(build_pipeline({normalize(), normalize()}, image_spec(3, 8, 8)),
                    ContainsSubstring("once"));
  CHECK_THROWS_WITH(build_pipeline({normalize()}, DataSpec{}), ContainsSubstring("no images"));
}

}  // namespace
}  // namespace runner
