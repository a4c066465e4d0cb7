#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace runner {

// The entries of a zip archive in memory that stores them uncompressed, as torch.save does; zip64 included.
class ZipArchive {
 public:
  explicit ZipArchive(std::span<std::byte> bytes);  // throws std::runtime_error without a file name

  struct Entry {
    std::span<std::byte> bytes;
    std::uint32_t checksum;  // CRC-32; 0 where the writer was told not to compute it
    bool stored;             // as it is: neither compressed nor encrypted
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }

  // The bytes of an entry whose checksum holds; throws where there is none, or not as it was written.
  std::span<std::byte> read(const std::string& name) const;

 private:
  std::map<std::string, Entry> entries_;
};

}  // namespace runner
