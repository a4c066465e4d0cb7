#include "registry/files/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "registry/files/open_file.hpp"

namespace runner {

namespace {

constexpr unsigned buffer_size = 1u << 17;
constexpr std::size_t always_allowed = 512u << 20, most_expansion = 100;
constexpr std::size_t most_at_once = 1u << 30;  // gzread takes an unsigned int

gzFile handle(void* file) { return static_cast<gzFile>(file); }

}  // namespace

void GzipReader::Close::operator()(void* file) const { gzclose(handle(file)); }

GzipReader::GzipReader(const std::filesystem::path& path) : path_(path) {
  {
    const OpenFile regular(path);  // its messages are better than zlib's
    most_ = std::max(always_allowed, most_expansion * regular.size());
  }
  file_.reset(gzopen(path.c_str(), "rb"));
  if (!file_) throw IoError("Cannot open " + path.string() + ": " + last_system_error() + ".");
  gzbuffer(handle(file_.get()), buffer_size);
}

std::size_t GzipReader::read(std::span<std::uint8_t> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const auto wanted = static_cast<unsigned>(std::min(into.size() - done, most_at_once));
    const int count = gzread(handle(file_.get()), into.data() + done, wanted);
    int code = Z_OK;
    const char* text = gzerror(handle(file_.get()), &code);
    if (code == Z_BUF_ERROR)
      throw IoError(path_.string() + " is truncated: the compressed data ends too early.");
    if (count < 0) {
      throw IoError(path_.string() +
                    " is damaged: " + (code == Z_ERRNO ? last_system_error() : std::string(text)) + ".");
    }
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
    given_ += static_cast<std::size_t>(count);
    if (given_ > most_) {
      throw IoError(path_.string() + " unpacks to more than " + std::to_string(most_) +
                    " bytes, far more than its size.");
    }
  }
  return done;
}

void GzipReader::skip(std::size_t count) {
  std::array<std::uint8_t, 1 << 14> unused;
  while (count > 0) {
    const std::size_t step = std::min(count, unused.size());
    if (read(std::span(unused).first(step)) != step) throw IoError(path_.string() + " ends too early.");
    count -= step;
  }
}

}  // namespace runner
