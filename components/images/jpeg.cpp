#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <string>

#include <jpeglib.h>

#include <jerror.h>

#include "components/images/image_codec.hpp"

namespace runner {

namespace {

// libjpeg reports errors through callbacks; on_error() must not return, and exceptions must not cross C code.
struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf escape;
  char text[JMSG_LENGTH_MAX];
  jpeg_progress_mgr progress;
};

[[noreturn]] void on_error(j_common_ptr decoder) {
  auto* manager = reinterpret_cast<ErrorManager*>(decoder->err);
  manager->base.format_message(decoder, manager->text);
  std::longjmp(manager->escape, 1);
}

// libjpeg only warns about missing and unreadable data, and fills it with grey. Only warnings that do not
// affect pixels are ignored.
bool harmless(int code) {
  return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
         code == JWRN_TOO_MUCH_DATA;
}

void on_message(j_common_ptr decoder, int level) {
  if (level < 0 && !harmless(decoder->err->msg_code)) on_error(decoder);
}

// Every scan is a pass over all coefficients of the image, but may take only a few bytes of the file: a small
// file could keep the decoder busy for hours.
void on_progress(j_common_ptr decoder) {
  constexpr int most_scans = 500;
  if (reinterpret_cast<j_decompress_ptr>(decoder)->input_scan_number <= most_scans) return;
  auto* manager = reinterpret_cast<ErrorManager*>(decoder->err);
  std::snprintf(manager->text, sizeof manager->text, "it has more than %d scans", most_scans);
  std::longjmp(manager->escape, 1);
}

// As Pillow does: files by Adobe store inverted values.
void cmyk_to_rgb(std::uint8_t* row, std::int64_t width, bool inverted) {
  for (std::int64_t x = 0; x < width; ++x) {
    const std::uint8_t* ink = row + 4 * x;
    const int black = inverted ? ink[3] : 255 - ink[3];
    for (int channel = 0; channel < 3; ++channel) {
      const int light = inverted ? ink[channel] : 255 - ink[channel];
      row[3 * x + channel] =
          static_cast<std::uint8_t>((light * black + 127) / 255);  // never writes ahead of what is read
    }
  }
}

struct Decoder {
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&jpeg); }

  jpeg_decompress_struct jpeg{};
};

struct Rows {
  std::vector<std::uint8_t>* rgb;
  std::vector<std::uint8_t>* ink;  // one row of four channels
};

// Between setjmp and longjmp no object with a destructor may be created: the caller owns the buffers.
bool decode(jpeg_decompress_struct& decoder, ErrorManager& errors, std::span<const std::uint8_t> encoded,
            Rows rows, ImageSize& size) {
  if (setjmp(errors.escape) != 0) return false;
  jpeg_create_decompress(&decoder);
  decoder.progress = &errors.progress;
  jpeg_mem_src(&decoder, encoded.data(), encoded.size());
  jpeg_read_header(&decoder, TRUE);
  size = {static_cast<std::int64_t>(decoder.image_height), static_cast<std::int64_t>(decoder.image_width)};
  if (size.height * size.width > most_pixels) {
    std::snprintf(errors.text, sizeof errors.text, "it claims %ld x %ld pixels, which is too large",
                  static_cast<long>(size.width), static_cast<long>(size.height));
    return false;
  }
  const bool four_inks = decoder.jpeg_color_space == JCS_CMYK || decoder.jpeg_color_space == JCS_YCCK;
  decoder.out_color_space = four_inks ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&decoder);
  rows.rgb->resize(static_cast<std::size_t>(size.height * size.width * 3));
  if (four_inks) rows.ink->resize(static_cast<std::size_t>(size.width * 4));
  while (decoder.output_scanline < decoder.output_height) {
    std::uint8_t* target =
        rows.rgb->data() + static_cast<std::int64_t>(decoder.output_scanline) * size.width * 3;
    JSAMPROW row = four_inks ? rows.ink->data() : target;
    jpeg_read_scanlines(&decoder, &row, 1);
    if (!four_inks) continue;
    cmyk_to_rgb(row, size.width, decoder.saw_Adobe_marker);
    std::copy_n(row, size.width * 3, target);
  }
  jpeg_finish_decompress(&decoder);
  return true;
}

}  // namespace

ImageSize decode_jpeg(std::span<const std::uint8_t> encoded, std::vector<std::uint8_t>& rgb) {
  Decoder decoder;
  ErrorManager errors{};
  std::vector<std::uint8_t> ink;
  ImageSize size;
  decoder.jpeg.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = &on_error;
  errors.base.emit_message = &on_message;
  errors.progress.progress_monitor = &on_progress;
  const bool good = decode(decoder.jpeg, errors, encoded, {&rgb, &ink}, size);
  if (!good) throw IoError("the JPEG data is broken: " + std::string(errors.text));
  return size;
}

}  // namespace runner
