#include "components/datasets/image_split.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/images.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::image_spec;
using testing::part;
using testing::pattern;

// Images of several sizes, example 2 with another number of channels.
class Various : public ImageSplit {
 public:
  Various(const DataSpec& raw, const std::vector<Part<TransformKind>>& transforms, Phase phase)
      : ImageSplit(raw, build_pipeline(transforms, raw), phase) {}

  std::int64_t size() const override { return 3; }

 private:
  ImageView image(std::int64_t index, Scratch& scratch) const override {
    const std::int64_t channels = index == 2 ? 1 : 3;
    scratch.decoded = pattern(channels, 8 + index, 8);
    return ImageView::planar(scratch.decoded.data(), channels, 8 + index, 8);
  }
  std::int64_t label(std::int64_t index) const override { return 5 + index; }
  std::string example_name(std::int64_t index) const override {
    return "cat/" + std::to_string(index) + ".png";
  }
};

void read(const Split& split, const std::vector<ExampleRef>& examples) {
  Batch batch = split.allocate(static_cast<std::int64_t>(examples.size()), torch::MemoryFormat::Contiguous);
  split.read(examples, batch, 0);
}

TEST_CASE("image_split writes images and labels into the asked examples, in both layouts, and no others") {
  const auto format = GENERATE(torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast);
  const Various split(image_spec(3, -1, -1), {part<TransformKind>("center_crop", {{"size", 6}})},
                      Phase::training);
  Batch batch = split.allocate(4, format);
  REQUIRE(batch.input.is_contiguous(format));
  batch.input.fill_(-1);
  batch.target.fill_(-1);
  split.read(std::vector<ExampleRef>{{1, 0}, {0, 0}}, batch, 1);
  CHECK(torch::equal(batch.target, torch::tensor({-1, 6, 5, -1}, torch::kInt64)));
  CHECK(torch::equal(batch.input[1], testing::plain_pattern(3, 9, 8).narrow(1, 2, 6).narrow(2, 1, 6)));
  CHECK(torch::equal(batch.input[2], testing::plain_pattern(3, 8, 8).narrow(1, 1, 6).narrow(2, 1, 6)));
  CHECK((batch.input[0] == -1).all().item<bool>());
  CHECK((batch.input[3] == -1).all().item<bool>());
}

TEST_CASE("image_split: an image of another size or number of channels is named, with the remedy") {
  const Various split(image_spec(3, 8, 8), {}, Phase::training);
  CHECK_NOTHROW(read(split, {{0, 0}}));
  CHECK_THROWS_WITH(read(split, {{0, 0}, {1, 0}}),
                    ContainsSubstring("cat/1.png: the image is 9 x 8") && ContainsSubstring("resize"));
  CHECK_THROWS_WITH(read(split, {{2, 0}}), ContainsSubstring("cat/2.png") && ContainsSubstring("1 channel"));
}

TEST_CASE("image_split: what a transform finds wrong with an image is named too") {
  const Various split(image_spec(3, -1, -1), {part<TransformKind>("random_crop", {{"size", 9}})},
                      Phase::training);
  CHECK_THROWS_WITH(read(split, {{0, 0}}), ContainsSubstring("cat/0.png: the image of 8 x 8 is smaller"));
}

TEST_CASE("image_split: images that stay different in size are refused before any is read") {
  CHECK_THROWS_WITH(Various(image_spec(3, -1, -1), {}, Phase::training), ContainsSubstring("differ in size"));
}

TEST_CASE("image_split: the evaluation part is left alone by random transforms, and its spec says so") {
  const std::vector<Part<TransformKind>> transforms{part<TransformKind>("random_crop", {{"size", 4}}),
                                                    part<TransformKind>("mixup")};
  const Various training(image_spec(3, 8, 8), transforms, Phase::training);
  const Various evaluation(image_spec(3, 8, 8), transforms, Phase::evaluation);
  CHECK(training.spec().input_shape == std::vector<std::int64_t>{3, 4, 4});
  CHECK(training.spec().target_type == torch::kFloat32);
  CHECK(evaluation.spec().input_shape == std::vector<std::int64_t>{3, 8, 8});
  CHECK(evaluation.spec().target_type == torch::kInt64);

  Batch batch = evaluation.allocate(1, torch::MemoryFormat::Contiguous);
  evaluation.read(std::vector<ExampleRef>{{0, 3}}, batch, 0);
  evaluation.finish(batch, 1);
  CHECK(torch::equal(batch.input[0], testing::plain_pattern(3, 8, 8)));
  CHECK(batch.target.scalar_type() == torch::kInt64);

  batch = training.allocate(2, torch::MemoryFormat::Contiguous);
  training.read(std::vector<ExampleRef>{{0, 3}, {0, 4}}, batch, 0);
  training.finish(batch, 1);
  CHECK(batch.target.sizes() == std::vector<std::int64_t>{2, 10});
}

}  // namespace
}  // namespace runner
