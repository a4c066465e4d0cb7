#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "components/support/io/mapping_guard.hpp"

namespace runner {

// A whole file in memory, read from disk only where it is touched. Writes into it stay private to this
// process, so a tensor on top of it behaves like any other.
class PrivateMapping {
 public:
  // Throws IoError that names the file and the reason: missing, unreadable, a directory ..
  static std::shared_ptr<PrivateMapping> open(const std::filesystem::path& path);
  ~PrivateMapping();
  PrivateMapping(const PrivateMapping&) = delete;
  PrivateMapping& operator=(const PrivateMapping&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  PrivateMapping(std::filesystem::path path, std::span<std::byte> bytes)
      : path_(std::move(path)), bytes_(bytes), guard_(path_, bytes.data(), bytes.size()) {}

  std::filesystem::path path_;
  std::span<std::byte> bytes_;
  MappingGuard guard_;
};

}  // namespace runner
