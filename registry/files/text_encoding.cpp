#include "registry/files/text_encoding.hpp"

#include <algorithm>
#include <array>

namespace runner {

namespace {

bool is_high(char byte) { return static_cast<unsigned char>(byte) >= 0x80; }

// In Western encodings, bytes above 127 are mostly isolated, at most two or three in a row as in "Größe"; in
// East Asian ones, two characters that follow each other are a run of four.
bool high_bytes_come_in_runs(std::string_view bytes) {
  constexpr std::ptrdiff_t shortest_run = 4;
  std::ptrdiff_t high = 0, in_runs = 0;
  for (auto at = std::ranges::find_if(bytes, is_high); at != bytes.end();
       at = std::find_if(at, bytes.end(), is_high)) {
    const auto end = std::find_if_not(at, bytes.end(), is_high);
    high += end - at;
    if (end - at >= shortest_run) in_runs += end - at;
    at = end;
  }
  return in_runs * 2 > high;
}

constexpr std::size_t looked_at = 4096;

// The share of zeros among the first bytes, of those at even positions and of those at odd ones.
std::array<double, 2> share_of_zeros(std::string_view bytes) {
  bytes = bytes.substr(0, looked_at);
  std::array<double, 2> zeros{};
  for (std::size_t i = 0; i < bytes.size(); ++i) zeros.at(i % 2) += bytes[i] == '\0';
  const double pairs = std::max<double>(1, static_cast<double>(bytes.size() / 2));
  return {zeros[0] / pairs, zeros[1] / pairs};
}

constexpr double most = 0.7, few = 0.1;  // of characters of Western texts; other binary data is less regular

}  // namespace

bool is_bare_utf16(std::string_view bytes) {
  const auto [even, odd] = share_of_zeros(bytes);
  return (even < few && odd > most) || (even > most && odd < few);
}

LikelyContent likely_content(std::string_view bytes) {
  if (bytes.starts_with("\x1F\x8B")) return LikelyContent::gzip;
  if (bytes.starts_with("PK\x03\x04")) return LikelyContent::zip;
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) return LikelyContent::utf16;
  if (is_bare_utf16(bytes))
    return bytes.front() == '\0' ? LikelyContent::utf16_big : LikelyContent::utf16_little;
  return high_bytes_come_in_runs(bytes) ? LikelyContent::east_asian : LikelyContent::western;
}

std::string encoding_remedy(std::string_view bytes) {
  switch (likely_content(bytes)) {
    case LikelyContent::gzip: return "It is compressed with gzip: unpack it first, with gunzip";
    case LikelyContent::zip: return "It is a zip archive: unpack it first, with unzip";
    case LikelyContent::utf16: return "It is UTF-16. Convert it with: iconv -f utf-16 -t utf-8";
    case LikelyContent::utf16_little: return "It is UTF-16. Convert it with: iconv -f utf-16le -t utf-8";
    case LikelyContent::utf16_big: return "It is UTF-16. Convert it with: iconv -f utf-16be -t utf-8";
    case LikelyContent::east_asian:
      return "Convert it from the encoding it was written in, such as GBK, Big5 or Shift-JIS: "
             "iconv -f gbk -t utf-8";
    case LikelyContent::western: break;
  }
  return "Convert it from the encoding it was written in, most often Latin-1: iconv -f latin1 -t utf-8";
}

}  // namespace runner
