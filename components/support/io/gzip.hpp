#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace runner {

// Reads a file front to back, unpacking it if it is gzip and as it is if it is not.
class GzipReader {
 public:
  explicit GzipReader(const std::filesystem::path& path);

  // Fills `into` as far as the data goes; fewer bytes than asked for mean the end. Throws IoError where the
  // file is truncated or damaged: gzip's own checksum is compared at the end.
  std::size_t read(std::span<std::uint8_t> into);
  void skip(std::size_t count);  // throws IoError if the data ends before

  // The most it gives: half a gigabyte, and of a large file a hundred times its size. Data that is nearly all
  // zeros shrinks to a thousandth, so small files are not judged by how well they shrink.
  std::size_t most() const { return most_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Close {
    void operator()(void* file) const;
  };

  std::filesystem::path path_;
  std::size_t most_ = 0, given_ = 0;
  std::unique_ptr<void, Close> file_;
};

}  // namespace runner
