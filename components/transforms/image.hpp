#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace runner {

// A view of pixels in a mapped file or a decoder's buffer. Steps describe any layout, also a mirrored one.
struct ImageView {
  const std::uint8_t* pixels = nullptr;
  std::int64_t channels = 0, height = 0, width = 0;
  std::ptrdiff_t channel_step = 0, row_step = 0, column_step = 0;  // in bytes

  static ImageView planar(const std::uint8_t* pixels, std::int64_t channels, std::int64_t height,
                          std::int64_t width) {
    return {pixels, channels, height, width, height * width, width, 1};
  }
  static ImageView interleaved(const std::uint8_t* pixels, std::int64_t height, std::int64_t width,
                               std::int64_t channels) {
    return {pixels, channels, height, width, 1, width * channels, channels};
  }

  const std::uint8_t* at(std::int64_t channel, std::int64_t row, std::int64_t column) const {
    return pixels + channel * channel_step + row * row_step + column * column_step;
  }
};

struct Rectangle {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};

// The float for each of the 256 pixel values, for every channel. A lookup is as fast as computing, and equals
// PyTorch's (value / 255 - mean) / deviation to the last bit on every machine.
class PixelTable {
 public:
  PixelTable(const std::vector<double>& mean, const std::vector<double>& deviation);
  explicit PixelTable(std::int64_t channels);  // value / 255

  std::int64_t channels() const { return static_cast<std::int64_t>(values_.size() / 256); }
  const float* channel(std::int64_t channel) const { return values_.data() + 256 * channel; }

 private:
  std::vector<float> values_;
};

// Memory that one worker reuses for every image it prepares.
struct Scratch {
  std::vector<std::uint8_t> decoded;    // for datasets that have to decode
  std::vector<std::uint8_t> pixels[2];  // for transforms that compute new pixels
  std::vector<float> numbers;
  int next = 0;
};

// Where the floats of one example are written, with a step for each axis.
struct ImageTarget {
  float* values = nullptr;
  std::ptrdiff_t channel_step = 0, row_step = 0, column_step = 0;  // in floats
};

// One image that is written into a batch. Crops, flips, padding, normalisation and erasing are only recorded;
// `write` applies them in the single pass that converts bytes to floats. Transforms that compute new pixels
// use `pixels()`.
class Image {
 public:
  Image(const ImageView& source, Scratch& scratch) : Image(source, source.height, source.width, scratch) {}

  std::int64_t channels() const { return view_.channels; }
  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }

  // Keeps the part of the image inside the rectangle. Where the rectangle reaches beyond the image, it is
  // padded with `fill`.
  void crop(const Rectangle& part, std::uint8_t fill = 0);
  void flip_horizontally();
  void flip_vertically();
  void normalize(const PixelTable& table) { table_ = &table; }  // the table must outlive the image
  // Fills the rectangle with one value per channel, as the model sees them: after normalisation.
  void erase(const Rectangle& part, const std::vector<float>& values);
  void erase_with_noise(const Rectangle& part, std::uint64_t seed);  // mean 0, deviation 1

  // The current pixels, without normalisation and erasing; copied only if there is padding.
  ImageView pixels();
  // Memory for new planar pixels of this size, which the caller fills completely; they become the image when
  // `replace` is called.
  std::uint8_t* draft(std::int64_t new_height, std::int64_t new_width);
  void replace(std::int64_t new_height, std::int64_t new_width);

  Scratch& scratch() { return *scratch_; }
  // Applies all that was recorded. `plain` is the table for images that were not normalised.
  void write(const ImageTarget& target, const PixelTable& plain) const;

 private:
  struct Erasure {
    Rectangle part;
    std::vector<float> values;  // empty: noise
    std::uint64_t seed = 0;
  };
  Image(const ImageView& source, std::int64_t height, std::int64_t width, Scratch& scratch)
      : view_(source), height_(height), width_(width), scratch_(&scratch) {}

  bool padded() const { return view_.height != height_ || view_.width != width_; }

  ImageView view_;                   // the pixels that exist
  std::int64_t top_ = 0, left_ = 0;  // where they are in the image
  std::int64_t height_, width_;      // of the image, padding included
  std::uint8_t fill_ = 0;
  const PixelTable* table_ = nullptr;  // none: value / 255
  std::vector<Erasure> erasures_;
  Scratch* scratch_;
};

}  // namespace runner
