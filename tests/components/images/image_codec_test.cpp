#include "components/images/image_codec.hpp"

#include <catch2/catch_all.hpp>

#include "registry/files/open_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes image_file(const std::string& name) {
  Bytes bytes;
  read_file(source_folder() / "tests/components/images/images" / name, bytes, 1 << 20);
  return bytes;
}

// The first scan of a progressive JPEG file, which gives the mean of each block, as often as wanted.
Bytes with_scans(const Bytes& jpeg, int count) {
  const auto marker = [&](std::size_t from, const auto& wanted) {
    while (jpeg.at(from) != 0xFF || !wanted(jpeg.at(from + 1))) ++from;
    return from;
  };
  const std::size_t begin = marker(0, [](int code) { return code == 0xDA; }), length = jpeg.at(begin + 3);
  const std::size_t data = begin + 2 + length;
  const std::size_t end = marker(data, [](int code) { return code != 0; });  // 0: a data byte of 0xFF
  Bytes scan(jpeg.begin() + static_cast<std::ptrdiff_t>(begin),
             jpeg.begin() + static_cast<std::ptrdiff_t>(end));
  scan.at(1 + length) = 0;  // all bits at once, so that no scan has to follow
  Bytes made(jpeg.begin(), jpeg.begin() + static_cast<std::ptrdiff_t>(begin));
  for (int i = 0; i < count; ++i) made.insert(made.end(), scan.begin(), scan.end());
  made.insert(made.end(), {0xFF, 0xD9});
  return made;
}

int largest_difference(const Bytes& a, const Bytes& b) {
  REQUIRE(a.size() == b.size());
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("PNG images of every kind decode to the bytes Pillow gives") {
  const std::string name = GENERATE("colour.png", "alpha.png", "grey.png", "grey_alpha.png", "one_bit.png",
                                    "palette.png", "palette_transparent.png", "sixteen_bit.png");
  INFO(name);
  Bytes rgb;
  const ImageSize size = decode_image(image_file(name), rgb);
  CHECK(size.height == 13);
  CHECK(size.width == 21);
  CHECK(largest_difference(rgb, image_file(name + ".rgb")) == 0);
}

TEST_CASE("JPEG images of every kind decode to what Pillow gives, to one step") {
  const std::string name =
      GENERATE("colour.jpg", "progressive.jpg", "full_chroma.jpg", "grey.jpg", "cmyk.jpg");
  INFO(name);
  Bytes rgb;
  const ImageSize size = decode_image(image_file(name), rgb);
  CHECK(size.height == 13);
  CHECK(size.width == 21);
  CHECK(largest_difference(rgb, image_file(name + ".rgb")) <= 1);
}

TEST_CASE("half an image is refused, wherever it is cut") {
  const std::string name = GENERATE("colour.jpg", "progressive.jpg", "cmyk.jpg", "colour.png", "palette.png");
  const Bytes whole = image_file(name);
  Bytes rgb;
  for (const double share : {0.1, 0.4, 0.6, 0.8}) {
    INFO(name << " to " << share);
    const Bytes half(whole.begin(),
                     whole.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(whole.size())));
    CHECK_THROWS_AS(decode_image(half, rgb), IoError);
  }
}

TEST_CASE("damaged images are refused or decoded, but never crash") {
  const std::string name =
      GENERATE("colour.jpg", "grey.jpg", "cmyk.jpg", "colour.png", "palette.png", "sixteen_bit.png");
  const Bytes whole = image_file(name);
  Bytes rgb;
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Bytes damaged = whole;
    damaged[at] ^= 0x5A;
    try {
      decode_image(damaged, rgb);
    } catch (const IoError& error) {
      CHECK(std::string(error.what()).size() > 10);
      ++refused;
    }
  }
  CHECK(refused > 20);
}

TEST_CASE("what is not an image is named as such") {
  Bytes rgb;
  CHECK_THROWS_WITH(decode_image(Bytes{}, rgb), ContainsSubstring("empty"));
  CHECK_THROWS_WITH(decode_image(Bytes(100, 'x'), rgb), ContainsSubstring("neither a JPEG nor a PNG"));
}

TEST_CASE("a JPEG image of endless scans is refused") {
  const Bytes jpeg = image_file("progressive.jpg");
  Bytes rgb;
  CHECK(decode_image(with_scans(jpeg, 500), rgb).height == 13);
  CHECK_THROWS_WITH(decode_image(with_scans(jpeg, 501), rgb), ContainsSubstring("more than 500 scans"));
}

TEST_CASE("an image that claims an absurd size is refused before memory is taken") {
  Bytes rgb;
  CHECK_THROWS_WITH(decode_image(image_file("bomb.png"), rgb), ContainsSubstring("more pixels"));
  Bytes jpeg = image_file("colour.jpg");
  for (std::size_t at = 0; at + 9 < jpeg.size(); ++at) {
    if (jpeg[at] != 0xFF || jpeg[at + 1] != 0xC0) continue;
    jpeg[at + 5] = jpeg[at + 7] = 0xFF;  // height and width
  }
  CHECK_THROWS_WITH(decode_image(jpeg, rgb), ContainsSubstring("too large"));
  CHECK(rgb.capacity() < 1'000'000);
}
