#include "components/support/text_encoding.hpp"

namespace runner {

namespace {

bool is_high(char byte) { return static_cast<unsigned char>(byte) >= 0x80; }

// In Western encodings, bytes above 127 are mostly isolated; in East Asian ones, they come in runs.
bool high_bytes_come_in_runs(std::string_view bytes) {
  std::size_t high = 0, in_runs = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (!is_high(bytes[i])) continue;
    ++high;
    if ((i > 0 && is_high(bytes[i - 1])) || (i + 1 < bytes.size() && is_high(bytes[i + 1]))) ++in_runs;
  }
  return in_runs * 2 > high;
}

}  // namespace

LikelyContent likely_content(std::string_view bytes) {
  if (bytes.starts_with("\x1F\x8B")) return LikelyContent::gzip;
  if (bytes.starts_with("PK\x03\x04")) return LikelyContent::zip;
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) return LikelyContent::utf16;
  return high_bytes_come_in_runs(bytes) ? LikelyContent::east_asian : LikelyContent::western;
}

std::string encoding_remedy(std::string_view bytes) {
  switch (likely_content(bytes)) {
    case LikelyContent::gzip: return "It is compressed with gzip: unpack it first, with gunzip";
    case LikelyContent::zip: return "It is a zip archive: unpack it first, with unzip";
    case LikelyContent::utf16: return "It is UTF-16. Convert it with: iconv -f utf-16 -t utf-8";
    case LikelyContent::east_asian:
      return "Convert it from the encoding it was written in, such as GBK, Big5 or Shift-JIS: "
             "iconv -f gbk -t utf-8";
    case LikelyContent::western: break;
  }
  return "Convert it from the encoding it was written in, most often Latin-1: iconv -f latin1 -t utf-8";
}

}  // namespace runner
