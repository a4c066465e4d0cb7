#include "components/images/exif_orientation.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace runner {

namespace {

using Bytes = std::span<const std::uint8_t>;

// Reads numbers of a TIFF structure, in either byte order; no value beyond its end.
class Tiff {
 public:
  explicit Tiff(Bytes bytes) : bytes_(bytes), big_(!bytes.empty() && bytes[0] == 'M') {}

  std::optional<std::uint32_t> number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value = value << 8 | bytes_[at + (big_ ? i : size - 1 - i)];
    return value;
  }

 private:
  Bytes bytes_;
  bool big_;
};

int orientation_in(const Tiff& tiff) {
  constexpr std::uint32_t orientation_tag = 0x0112;
  const auto directory = tiff.number(4, 4);
  const auto entries = directory ? tiff.number(*directory, 2) : std::nullopt;
  for (std::uint32_t i = 0; i < entries.value_or(0); ++i) {
    const std::size_t entry = std::size_t{*directory} + 2 + std::size_t{12} * i;
    if (tiff.number(entry, 2) != orientation_tag) continue;
    const std::uint32_t value = tiff.number(entry + 8, 2).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace

int exif_orientation(Bytes jpeg) {
  constexpr std::uint8_t marker = 0xFF, application_data = 0xE1, start_of_scan = 0xDA;
  constexpr std::string_view exif("Exif\0\0", 6);
  std::size_t at = 2;  // after the start of the image
  while (at + 4 <= jpeg.size() && jpeg[at] == marker && jpeg[at + 1] != start_of_scan) {
    const std::size_t length = std::size_t{jpeg[at + 2]} << 8 | jpeg[at + 3];
    if (length < 2 || length > jpeg.size() - at - 2) break;
    const Bytes content = jpeg.subspan(at + 4, length - 2);
    const bool is_exif = jpeg[at + 1] == application_data && content.size() > exif.size() &&
                         std::ranges::equal(content.first(exif.size()), exif, [](std::uint8_t a, char b) {
                           return a == static_cast<std::uint8_t>(b);
                         });
    if (is_exif) return orientation_in(Tiff(content.subspan(exif.size())));
    at += 2 + length;
  }
  return 1;
}

ImageSize turn_upright(std::vector<std::uint8_t>& rgb, ImageSize size, int orientation) {
  if (orientation <= 1 || orientation > 8) return size;
  const bool on_its_side = orientation >= 5;
  const ImageSize turned = on_its_side ? ImageSize{size.width, size.height} : size;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const std::vector<std::uint8_t> stored = rgb;
  std::uint8_t* pixel = rgb.data();
  for (std::int64_t y = 0; y < turned.height; ++y) {
    for (std::int64_t x = 0; x < turned.width; ++x, pixel += 3) {
      const std::int64_t row = on_its_side ? x : y, column = on_its_side ? y : x;
      const std::int64_t from_row = from_bottom ? size.height - 1 - row : row;
      const std::int64_t from_column = from_right ? size.width - 1 - column : column;
      std::copy_n(stored.data() + (from_row * size.width + from_column) * 3, 3, pixel);
    }
  }
  return turned;
}

}  // namespace runner
