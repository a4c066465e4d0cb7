#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "components/trackers/support/append_file.hpp"

namespace runner {

// CRC-32C (Castagnoli), as iSCSI and TFRecord files use it.
std::uint32_t crc32c(std::string_view bytes);

// TensorFlow's record file. Each record is
//   u64 length | u32 masked CRC of the length | the bytes | u32 masked CRC of the bytes     (all
//   little-endian)
// with masked(crc) = rotr(crc, 15) + 0xa282ead8. Records wait in memory until flush(), which writes them in
// one piece: a process killed at any moment leaves whole records, and at most the last one torn by the system
// itself.
class RecordFile {
 public:
  explicit RecordFile(const std::filesystem::path& path) : file_(path) {}
  ~RecordFile();  // flushes, as far as it can

  void add(std::string_view record);
  void flush();

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  AppendFile file_;
  std::string waiting_;
};

// The next record; none at the end, and none where the bytes are torn or damaged.
std::optional<std::string> read_record(std::istream& in);
// The bytes that a record takes in the file.
std::uint64_t record_size(std::string_view record);
// Where the first record starts in these bytes from the middle of a file, found by its checksum.
std::optional<std::size_t> find_record(std::string_view bytes);

}  // namespace runner
