#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace runner {

// The entries of a zip archive in memory, stored uncompressed as torch.save does. Supports zip64.
class ZipArchive {
 public:
  explicit ZipArchive(std::span<std::byte> bytes);  // throws std::runtime_error, which does not name the file

  struct Entry {
    std::span<std::byte> bytes;
    std::uint32_t checksum;  // CRC-32; 0 if the writer was told not to compute it
    bool stored;             // neither compressed nor encrypted
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }

  // The bytes of an entry, after its checksum was verified. Throws if it is missing, compressed or damaged.
  std::span<std::byte> read(const std::string& name) const;

 private:
  std::map<std::string, Entry> entries_;
};

}  // namespace runner
