#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace runner {

// Reads a file from front to back; decompresses it if it is gzip.
class GzipReader {
 public:
  explicit GzipReader(const std::filesystem::path& path);

  // Fills `into`; fewer bytes than asked for mean the end of the data. Throws IoError if the file is
  // truncated or damaged: gzip's own checksum is verified at the end.
  std::size_t read(std::span<std::uint8_t> into);
  void skip(std::size_t count);  // throws IoError if there are fewer bytes

  // The limit for the decompressed size: half a gigabyte or, if that is more, 100 times the size of the file.
  // Data that is nearly all zeros shrinks to a thousandth, so the ratio of small files is not limited.
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
