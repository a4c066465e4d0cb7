#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "registry/files/mapping_guard.hpp"

namespace runner {

// A whole file mapped read-only into memory: the kernel reads a page when it is first touched and may drop it
// again, so the file may be larger than the memory.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(std::filesystem::path path);  // throws IoError: missing, unreadable, a folder, empty
  MappedFile(MappedFile&& other) noexcept
      : path_(std::move(other.path_)),
        bytes_(std::exchange(other.bytes_, {})),
        guard_(std::move(other.guard_)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(bytes_, other.bytes_);
    std::swap(guard_, other.guard_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::span<const std::uint8_t> bytes_;
  MappingGuard guard_;
};

}  // namespace runner
