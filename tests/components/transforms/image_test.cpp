#include <catch2/catch_all.hpp>

#include "components/transforms/image.hpp"
#include "tests/support/images.hpp"

namespace runner {
namespace {

using testing::pattern;
using testing::plain_pattern;
using testing::written;

// The same steps done at once on a tensor, by LibTorch.
struct Eager {
  torch::Tensor values;

  void crop(const Rectangle& part, float fill) {
    const std::int64_t height = values.size(1), width = values.size(2);
    const auto beyond = [](std::int64_t amount) { return std::max<std::int64_t>(0, amount); };
    const std::int64_t top = beyond(-part.top), left = beyond(-part.left);
    const torch::Tensor padded = torch::constant_pad_nd(
        values, {left, beyond(part.left + part.width - width), top, beyond(part.top + part.height - height)},
        fill);
    values = padded.narrow(1, part.top + top, part.height).narrow(2, part.left + left, part.width);
  }
  void erase(const Rectangle& part, const std::vector<float>& fill) {
    values = values.clone();
    values.narrow(1, part.top, part.height)
        .narrow(2, part.left, part.width)
        .copy_(torch::tensor(fill).view({-1, 1, 1}).expand({-1, part.height, part.width}));
  }
};

TEST_CASE("image: any sequence of crops, paddings, flips and erasures equals doing each at once") {
  ExampleRandom random(GENERATE(range(0, 60)));
  const std::int64_t channels = random.chance(0.5) ? 3 : random.below(4) + 1;
  const auto pixels = pattern(channels, 9, 12);
  auto interleaved =
      torch::from_blob(const_cast<std::uint8_t*>(pixels.data()), {channels, 9, 12}, torch::kUInt8)
          .permute({1, 2, 0})
          .contiguous();
  const ImageView source =
      random.chance(0.5) ? ImageView::planar(pixels.data(), channels, 9, 12)
                         : ImageView::interleaved(interleaved.data_ptr<std::uint8_t>(), 9, 12, channels);
  Scratch scratch;
  Image image(source, scratch);
  Eager eager{plain_pattern(channels, 9, 12)};
  bool erased = false;
  for (int step = 0; step < 6; ++step) {
    const std::int64_t height = image.height(), width = image.width();
    switch (random.below(5)) {
      case 0: image.flip_horizontally(), eager.values = eager.values.flip({2}); break;
      case 1: image.flip_vertically(), eager.values = eager.values.flip({1}); break;
      case 2: {  // inside, outside, or partly
        Rectangle part{random.below(height + 6) - 3, random.below(width + 6) - 3, 1 + random.below(12),
                       1 + random.below(12)};
        const auto fill = static_cast<std::uint8_t>(erased ? 0 : random.below(3) * 100);
        if (erased) part = {height / 4, width / 4, 1 + height / 2, 1 + width / 2};
        image.crop(part, fill);
        eager.crop(part, static_cast<float>(fill) / 255.0F);
        break;
      }
      case 3: {
        const Rectangle part{random.below(height), random.below(width), 1, 1};
        const Rectangle larger{part.top, part.left, 1 + random.below(height - part.top),
                               1 + random.below(width - part.left)};
        const std::vector<float> values(static_cast<std::size_t>(channels), static_cast<float>(step) - 9.0F);
        image.erase(larger, values);
        eager.erase(larger, values);
        erased = true;
        break;
      }
      default:
        if (!erased) image.pixels();  // whatever was noted down so far becomes pixels
    }
  }
  CHECK(torch::equal(written(image), eager.values));
  CHECK(torch::equal(written(image, true), eager.values));
}

TEST_CASE("image: a crop wholly outside is all padding, and can still be turned and cut") {
  const auto pixels = pattern(3, 4, 4);
  Scratch scratch;
  Image image(ImageView::planar(pixels.data(), 3, 4, 4), scratch);
  image.crop({10, 10, 5, 6}, 255);
  image.flip_horizontally();
  image.flip_vertically();
  image.crop({1, 1, 2, 2});
  CHECK(torch::equal(written(image), torch::ones({3, 2, 2})));
}

TEST_CASE("image: a crop wholly outside, on any side, writes its padding and nothing around it") {
  const Rectangle part = GENERATE(Rectangle{0, -16, 8, 8}, Rectangle{2, -30, 8, 8}, Rectangle{0, 40, 8, 8},
                                  Rectangle{-16, 0, 8, 8}, Rectangle{40, 0, 8, 8}, Rectangle{-20, -20, 8, 8});
  const bool flipped = GENERATE(false, true);
  const auto pixels = pattern(1, 32, 32);
  Scratch scratch;
  Image image(ImageView::planar(pixels.data(), 1, 32, 32), scratch);
  image.crop(part, 255);
  if (flipped) {
    image.flip_horizontally();
    image.flip_vertically();
  }
  constexpr std::size_t around = 64, inside = 64;
  std::vector<float> buffer(around + inside + around, -1.0F);
  image.write({buffer.data() + around, 64, 8, 1}, PixelTable(1));
  std::vector<float> expected(buffer.size(), -1.0F);
  std::fill_n(expected.begin() + around, inside, 1.0F);
  CHECK(buffer == expected);
}

TEST_CASE("image: noise fills the rectangle, repeats with its seed, and leaves the rest alone") {
  const auto noisy = [](std::uint64_t seed) {
    const auto pixels = pattern(3, 40, 40);
    Scratch scratch;
    Image image(ImageView::planar(pixels.data(), 3, 40, 40), scratch);
    image.erase_with_noise({5, 5, 30, 30}, seed);
    return written(image);
  };
  const torch::Tensor noise = noisy(1).narrow(1, 5, 30).narrow(2, 5, 30);
  CHECK_THAT(noise.mean().item<double>(), Catch::Matchers::WithinAbs(0, 0.1));
  CHECK_THAT(noise.std().item<double>(), Catch::Matchers::WithinAbs(1, 0.1));
  CHECK(torch::equal(noisy(1), noisy(1)));
  CHECK_FALSE(torch::equal(noisy(1), noisy(2)));
  CHECK(torch::equal(noisy(1).narrow(1, 0, 5), plain_pattern(3, 40, 40).narrow(1, 0, 5)));
}

}  // namespace
}  // namespace runner
