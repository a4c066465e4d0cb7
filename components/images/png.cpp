#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <string>

#include "components/images/image_codec.hpp"

namespace runner {

namespace {

constexpr png_alloc_size_t most_text_bytes = 8u << 20;  // a chunk that is not pixels

struct EncodedBytes {
  std::span<const std::uint8_t> left;
  char text[200];
};

void on_read(png_structp decoder, png_bytep into, std::size_t count) {
  auto& source = *static_cast<EncodedBytes*>(png_get_io_ptr(decoder));
  if (count > source.left.size()) png_error(decoder, "it ends too early");
  std::copy_n(source.left.begin(), count, into);
  source.left = source.left.subspan(count);
}

[[noreturn]] void on_error(png_structp decoder, png_const_charp message) {
  auto& source = *static_cast<EncodedBytes*>(png_get_error_ptr(decoder));
  std::snprintf(source.text, sizeof source.text, "%s", message);
  std::longjmp(png_jmpbuf(decoder), 1);
}

void on_warning(png_structp, png_const_charp) {}

struct Decoder {
  explicit Decoder(EncodedBytes& source)
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, &on_error, &on_warning)),
        info(png ? png_create_info_struct(png) : nullptr) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }

  png_structp png;
  png_infop info;
};

// Everything to three channels of eight bits.
void ask_for_rgb(png_structp decoder) {
  png_set_palette_to_rgb(decoder);
  png_set_expand_gray_1_2_4_to_8(decoder);
  png_set_gray_to_rgb(decoder);
  png_set_scale_16(decoder);
  png_set_strip_alpha(decoder);
}

struct Buffers {
  std::vector<std::uint8_t>* rgb;
  std::vector<png_bytep>* rows;
};

// Between setjmp and longjmp no object with a destructor may be created: the caller owns the buffers.
bool decode(png_structp decoder, png_infop info, EncodedBytes& source, Buffers buffers, ImageSize& size) {
  if (setjmp(png_jmpbuf(decoder)) != 0) return false;
  png_set_read_fn(decoder, &source, &on_read);
  png_set_user_limits(decoder, most_pixels, most_pixels);
  png_set_chunk_malloc_max(decoder, most_text_bytes);
  png_read_info(decoder, info);
  size = {png_get_image_height(decoder, info), png_get_image_width(decoder, info)};
  if (size.height * size.width > most_pixels)
    png_error(decoder, "it claims more pixels than an image may have");
  ask_for_rgb(decoder);
  png_set_interlace_handling(decoder);
  png_read_update_info(decoder, info);
  if (png_get_rowbytes(decoder, info) != static_cast<std::size_t>(size.width * 3)) {
    png_error(decoder, "its colours cannot be read as red, green and blue");
  }
  buffers.rgb->resize(static_cast<std::size_t>(size.height * size.width * 3));
  buffers.rows->resize(static_cast<std::size_t>(size.height));
  for (std::int64_t y = 0; y < size.height; ++y)
    (*buffers.rows)[y] = buffers.rgb->data() + y * size.width * 3;
  png_read_image(decoder, buffers.rows->data());
  return true;
}

}  // namespace

ImageSize decode_png(std::span<const std::uint8_t> encoded, std::vector<std::uint8_t>& rgb) {
  EncodedBytes source{encoded, {}};
  std::vector<png_bytep> rows;
  ImageSize size;
  const Decoder decoder(source);
  const bool good = decoder.info && decode(decoder.png, decoder.info, source, {&rgb, &rows}, size);
  if (!good) throw IoError("the PNG data is broken: " + std::string(source.text));
  return size;
}

std::string encode_png(std::span<const std::uint8_t> rgb, ImageSize size) {
  if (size.height <= 0 || size.width <= 0 ||
      rgb.size() != static_cast<std::size_t>(size.height * size.width * 3)) {
    throw IoError("an image of " + std::to_string(size.width) + " x " + std::to_string(size.height) +
                  " pixels does not have " + std::to_string(rgb.size()) + " bytes");
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(size.height);
  image.width = static_cast<png_uint_32>(size.width);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string png(bytes, '\0');
  if (!png_image_write_to_memory(&image, png.data(), &bytes, 0, rgb.data(), 0, nullptr))
    throw IoError("the image cannot be encoded: " + std::string(image.message));
  png.resize(bytes);
  return png;
}

}  // namespace runner
