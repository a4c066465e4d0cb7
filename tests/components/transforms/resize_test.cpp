#include <catch2/catch_all.hpp>

#include "tests/components/transforms/reference.hpp"
#include "tests/support/images.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::image_spec;
using testing::reference;
using testing::transform;
using testing::transformed;

TEST_CASE("resize gives the bytes that Pillow gives, larger and smaller") {
  const std::string how = GENERATE("nearest", "bilinear", "bicubic");
  const auto [height, width] =
      GENERATE(std::pair{7, 9}, std::pair{20, 31}, std::pair{4, 25}, std::pair{20, 9}, std::pair{5, 14});
  const auto resize = transform("resize", {{"height", height}, {"width", width}, {"interpolation", how}},
                                image_spec(3, 13, 17));
  const torch::Tensor bytes = (transformed(*resize, 3, 13, 17) * 255).round().to(torch::kUInt8);
  CHECK(torch::equal(bytes, reference(how + "_" + std::to_string(height) + "x" + std::to_string(width))));
}

TEST_CASE("resize also takes pixels that lie side by side, or that were cut and mirrored before") {
  const auto resize = transform("resize", {{"height", 7}, {"width", 9}}, image_spec(3, 13, 17));
  const auto planar = testing::pattern(3, 13, 17);
  std::vector<std::uint8_t> mirrored(planar.size());
  for (std::size_t i = 0; i < 13 * 17; ++i) {
    const std::size_t row = i / 17, column = i % 17;
    for (std::size_t c = 0; c < 3; ++c) mirrored[(row * 17 + 16 - column) * 3 + c] = planar[c * 13 * 17 + i];
  }
  Scratch scratch;
  Image image(ImageView::interleaved(mirrored.data(), 13, 17, 3), scratch);
  image.flip_horizontally();
  ExampleRandom random(0);
  resize->apply(image, random);
  CHECK(torch::equal(testing::written(image), transformed(*resize, 3, 13, 17)));
}

TEST_CASE("resize: size is the shorter edge, rounded down for the other as torchvision does") {
  const auto resize = transform("resize", {{"size", 8}}, image_spec(3, 13, 17));
  CHECK(resize->output(image_spec(3, 13, 17)).input_shape == std::vector<std::int64_t>{3, 8, 10});
  CHECK(resize->output(image_spec(3, 17, 13)).input_shape == std::vector<std::int64_t>{3, 10, 8});
  CHECK(resize->output(image_spec(3, -1, -1)).input_shape == std::vector<std::int64_t>{3, -1, -1});
  CHECK(transformed(*resize, 3, 13, 17).sizes() == std::vector<std::int64_t>{3, 8, 10});
}

TEST_CASE("resize refuses a strip that would become larger than any image, instead of filling the memory") {
  const auto resize = transform("resize", {{"size", 224}}, image_spec(3, -1, -1));
  CHECK_THROWS_WITH(transformed(*resize, 3, 1, 200'000),
                    ContainsSubstring("the image of 1 x 200000 would be resized to 224 x 44800000") &&
                        ContainsSubstring("set height and width"));
  CHECK_THROWS_WITH(transformed(*resize, 3, 200'000, 1), ContainsSubstring("44800000 x 224"));
  CHECK(transformed(*resize, 1, 1, 200).sizes() == std::vector<std::int64_t>{1, 224, 44800});
}

TEST_CASE("resize: one way of giving the size, completely, and before the bytes are gone") {
  const DataSpec spec = image_spec(3, 13, 17);
  CHECK_THROWS_WITH(transform("resize", {}, spec), ContainsSubstring("give size, or height and width"));
  CHECK_THROWS_WITH(transform("resize", {{"height", 3}}, spec), ContainsSubstring("are given together"));
  CHECK_THROWS_WITH(transform("resize", {{"height", 3}, {"width", 3}, {"size", 3}}, spec),
                    ContainsSubstring("either size"));
  CHECK_THROWS_WITH(transform("resize", {{"size", 0}}, spec), ContainsSubstring("size"));
  DataSpec normalized = spec;
  normalized.pixels_final = true;
  CHECK_THROWS_WITH(transform("resize", {{"size", 8}}, normalized), ContainsSubstring("before normalize"));
}

}  // namespace
}  // namespace runner
