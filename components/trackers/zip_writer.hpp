#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "registry/files/atomic_file.hpp"

namespace runner {

// Writes a zip archive of compressed files; it appears only when it is complete. Up to 4 GB, which every
// reader supports; beyond that it throws std::runtime_error.
class ZipWriter {
 public:
  explicit ZipWriter(std::filesystem::path path);

  void add(const std::string& name, std::string_view bytes);
  void add_file(const std::string& name, const std::filesystem::path& file);
  void finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t crc, compressed, size, offset;
  };

  void add_compressed(const std::string& name, std::uint32_t crc, std::uint64_t size,
                      const std::string& bytes);
  void write(std::string_view bytes);

  std::filesystem::path path_;
  AtomicFile out_;
  std::uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace runner
