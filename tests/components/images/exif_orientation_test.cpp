#include "components/images/exif_orientation.hpp"

#include <catch2/catch_all.hpp>
#include <string>

using namespace runner;

namespace {

// The beginning of a JPEG file with this orientation, in either order of bytes.
std::vector<std::uint8_t> jpeg_start(std::uint8_t orientation, bool big) {
  const std::string tiff = big ? std::string("MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0", 19)
                               : std::string("II*\0\10\0\0\0\1\0\22\1\3\0\1\0\0\0", 18);
  std::string exif =
      std::string("Exif\0\0", 6) + tiff + static_cast<char>(orientation) + std::string(7, '\0');
  const auto length = static_cast<char>(exif.size() + 2);
  const std::string text =
      std::string("\xFF\xD8\xFF\xE0\0\4JF", 8) + std::string("\xFF\xE1\0", 3) + length + exif + "\xFF\xDA";
  return {text.begin(), text.end()};
}

// The letters of the image, a row after the other, each pixel three times the same.
std::string turned(const std::string& letters, ImageSize size, int orientation) {
  std::vector<std::uint8_t> rgb;
  for (const char letter : letters) rgb.insert(rgb.end(), 3, static_cast<std::uint8_t>(letter));
  size = turn_upright(rgb, size, orientation);
  std::string text;
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x)
      text += static_cast<char>(rgb[static_cast<std::size_t>(3 * (y * size.width + x) + 2)]);
    text += "/";
  }
  return text;
}

}  // namespace

TEST_CASE("the orientation is read from EXIF data in either order of bytes", "[images]") {
  for (std::uint8_t orientation = 1; orientation <= 8; ++orientation) {
    CHECK(exif_orientation(jpeg_start(orientation, true)) == orientation);
    CHECK(exif_orientation(jpeg_start(orientation, false)) == orientation);
  }
}

TEST_CASE("an image whose EXIF data are missing, cut off or wrong is upright", "[images]") {
  CHECK(exif_orientation({}) == 1);
  CHECK(exif_orientation(jpeg_start(0, true)) == 1);
  CHECK(exif_orientation(jpeg_start(9, false)) == 1);
  const std::vector<std::uint8_t> whole = jpeg_start(6, true);
  for (std::size_t size = 0; size + 10 < whole.size(); ++size)
    CHECK(exif_orientation(std::span(whole).first(size)) == 1);
  for (std::size_t place = 8; place < whole.size(); ++place) {  // nothing is read beyond the end
    std::vector<std::uint8_t> odd = whole;
    odd[place] = 0xFF;
    const int orientation = exif_orientation(odd);
    CHECK((orientation >= 1 && orientation <= 8));
  }
}

// PIL.ImageOps.exif_transpose gives the same.
TEST_CASE("images are turned upright", "[images]") {
  const std::vector<std::string> expected{"abc/def/",  "cba/fed/",  "fed/cba/",  "def/abc/",
                                          "ad/be/cf/", "da/eb/fc/", "fc/eb/da/", "cf/be/ad/"};
  for (int orientation = 1; orientation <= 8; ++orientation)
    CHECK(turned("abcdef", {2, 3}, orientation) == expected[static_cast<std::size_t>(orientation - 1)]);
}
