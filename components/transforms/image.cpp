#include "components/transforms/image.hpp"

#include <algorithm>

#include "components/contract/example_random.hpp"

namespace runner {
namespace {

Rectangle overlap(const Rectangle& a, const Rectangle& b) {
  const std::int64_t top = std::max(a.top, b.top);
  const std::int64_t left = std::max(a.left, b.left);
  return {top, left, std::max<std::int64_t>(0, std::min(a.top + a.height, b.top + b.height) - top),
          std::max<std::int64_t>(0, std::min(a.left + a.width, b.left + b.width) - left)};
}

void fill_line(float* first, std::int64_t count, std::ptrdiff_t step, float value) {
  for (std::int64_t i = 0; i < count; ++i) first[i * step] = value;
}

// One row of one channel.
void look_up(const std::uint8_t* from, std::ptrdiff_t from_step, float* to, std::ptrdiff_t to_step,
             std::int64_t count, const float* table) {
  if (to_step == 1) {  // a constant step lets the compiler unroll
    for (std::int64_t i = 0; i < count; ++i) to[i] = table[from[i * from_step]];
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_step] = table[from[i * from_step]];
  }
}

// One row of three channels that are interleaved in the target, which is written in one pass.
void look_up_three(const std::uint8_t* from, std::ptrdiff_t from_step, std::ptrdiff_t channel_step, float* to,
                   std::int64_t count, const PixelTable& table) {
  const float* red = table.channel(0);
  const float* green = table.channel(1);
  const float* blue = table.channel(2);
  for (std::int64_t i = 0; i < count; ++i, from += from_step, to += 3) {
    to[0] = red[from[0]];
    to[1] = green[from[channel_step]];
    to[2] = blue[from[2 * channel_step]];
  }
}

}  // namespace

PixelTable::PixelTable(const std::vector<double>& mean, const std::vector<double>& deviation) {
  for (std::size_t channel = 0; channel < mean.size(); ++channel) {
    const auto center = static_cast<float>(mean[channel]);
    const auto spread = static_cast<float>(deviation[channel]);
    for (int value = 0; value < 256; ++value) {
      values_.push_back((static_cast<float>(value) / 255.0F - center) / spread);
    }
  }
}

PixelTable::PixelTable(std::int64_t channels)
    : PixelTable(std::vector<double>(static_cast<std::size_t>(channels), 0.0),
                 std::vector<double>(static_cast<std::size_t>(channels), 1.0)) {}

void Image::crop(const Rectangle& part, std::uint8_t fill) {
  const bool reaches_out =
      part.top < 0 || part.left < 0 || part.top + part.height > height_ || part.left + part.width > width_;
  if (reaches_out && padded() && fill != fill_) pixels();  // two kinds of padding: the first becomes pixels
  if (reaches_out) fill_ = fill;

  Rectangle kept = overlap(part, {top_, left_, view_.height, view_.width});
  if (kept.height > 0 && kept.width > 0) {
    view_.pixels = view_.at(0, kept.top - top_, kept.left - left_);
  } else {
    kept = {part.top, part.left, 0, 0};  // an empty overlap may lie beyond the part
  }
  view_.height = kept.height;
  view_.width = kept.width;
  top_ = kept.top - part.top;
  left_ = kept.left - part.left;
  for (Erasure& erasure : erasures_) {
    erasure.part = overlap(erasure.part, part);
    erasure.part.top -= part.top;
    erasure.part.left -= part.left;
  }
  height_ = part.height;
  width_ = part.width;
}

void Image::flip_horizontally() {
  view_.pixels += (view_.width - 1) * view_.column_step;
  view_.column_step = -view_.column_step;
  left_ = width_ - left_ - view_.width;
  for (Erasure& erasure : erasures_) erasure.part.left = width_ - erasure.part.left - erasure.part.width;
}

void Image::flip_vertically() {
  view_.pixels += (view_.height - 1) * view_.row_step;
  view_.row_step = -view_.row_step;
  top_ = height_ - top_ - view_.height;
  for (Erasure& erasure : erasures_) erasure.part.top = height_ - erasure.part.top - erasure.part.height;
}

void Image::erase(const Rectangle& part, const std::vector<float>& values) {
  erasures_.push_back({overlap(part, {0, 0, height_, width_}), values});
}

void Image::erase_with_noise(const Rectangle& part, std::uint64_t seed) {
  erasures_.push_back({overlap(part, {0, 0, height_, width_}), {}, seed});
}

ImageView Image::pixels() {
  if (!padded()) return view_;
  std::uint8_t* to = draft(height_, width_);
  std::fill_n(to, channels() * height_ * width_, fill_);
  for (std::int64_t channel = 0; channel < channels(); ++channel) {
    for (std::int64_t row = 0; row < view_.height; ++row) {
      std::uint8_t* line = to + (channel * height_ + top_ + row) * width_ + left_;
      for (std::int64_t column = 0; column < view_.width; ++column)
        line[column] = *view_.at(channel, row, column);
    }
  }
  replace(height_, width_);
  return view_;
}

std::uint8_t* Image::draft(std::int64_t new_height, std::int64_t new_width) {
  auto& pixels = scratch_->pixels[scratch_->next];
  pixels.resize(static_cast<std::size_t>(channels() * new_height * new_width));
  return pixels.data();
}

void Image::replace(std::int64_t new_height, std::int64_t new_width) {
  view_ = ImageView::planar(scratch_->pixels[scratch_->next].data(), channels(), new_height, new_width);
  scratch_->next = 1 - scratch_->next;
  top_ = left_ = 0;
  height_ = new_height;
  width_ = new_width;
}

void Image::write(const ImageTarget& target, const PixelTable& plain) const {
  const PixelTable& table = table_ ? *table_ : plain;
  const auto place = [&](std::int64_t channel, std::int64_t row, std::int64_t column) {
    return target.values + channel * target.channel_step + row * target.row_step +
           column * target.column_step;
  };

  const bool side_by_side = channels() == 3 && target.channel_step == 1 && target.column_step == 3;
  // Rows without gaps between them, in the source and in the target, are treated as one long row.
  const bool seamless = view_.row_step == view_.width * view_.column_step &&
                        target.row_step == view_.width * target.column_step;
  const std::int64_t rows = seamless ? 1 : view_.height;
  const std::int64_t width = seamless ? view_.height * view_.width : view_.width;
  for (std::int64_t channel = 0; channel < (side_by_side ? 1 : channels()); ++channel) {
    for (std::int64_t row = 0; row < rows; ++row) {
      float* to = place(channel, top_ + row, left_);
      if (side_by_side) {
        look_up_three(view_.at(0, row, 0), view_.column_step, view_.channel_step, to, width, table);
      } else {
        look_up(view_.at(channel, row, 0), view_.column_step, to, target.column_step, width,
                table.channel(channel));
      }
    }
  }

  for (std::int64_t channel = 0; padded() && channel < channels(); ++channel) {
    const float value = table.channel(channel)[fill_];
    for (std::int64_t row = 0; row < height_; ++row) {
      const bool has_pixels = row >= top_ && row < top_ + view_.height;
      const std::int64_t after = has_pixels ? left_ + view_.width : width_;
      fill_line(place(channel, row, 0), has_pixels ? left_ : width_, target.column_step, value);
      fill_line(place(channel, row, after), width_ - after, target.column_step, value);
    }
  }

  for (const Erasure& erasure : erasures_) {
    ExampleRandom noise(erasure.seed);
    for (std::int64_t channel = 0; channel < channels(); ++channel) {
      for (std::int64_t row = 0; row < erasure.part.height; ++row) {
        float* to = place(channel, erasure.part.top + row, erasure.part.left);
        for (std::int64_t column = 0; column < erasure.part.width; ++column, to += target.column_step) {
          *to = erasure.values.empty() ? static_cast<float>(noise.normal())
                                       : erasure.values[static_cast<std::size_t>(channel)];
        }
      }
    }
  }
}

}  // namespace runner
