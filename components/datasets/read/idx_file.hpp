#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "registry/files/mapped_file.hpp"

namespace runner {

// An array of bytes in the IDX format of the MNIST family: two zero bytes, 08 for bytes, the number of
// dimensions, their sizes (big-endian, 32 bit), the bytes. The file is mapped, or unpacked into memory if it
// is compressed with gzip. Throws IoError.
class IdxFile {
 public:
  static std::vector<std::int64_t> read_shape(const std::filesystem::path& path);  // the header only

  explicit IdxFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::span<const std::uint8_t> values() const { return values_; }

 private:
  std::filesystem::path path_;
  std::vector<std::int64_t> shape_;
  MappedFile mapped_;
  std::vector<std::uint8_t> unpacked_;
  std::span<const std::uint8_t> values_;  // into one of the two
};

}  // namespace runner
