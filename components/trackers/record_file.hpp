#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "components/trackers/append_file.hpp"

namespace runner {

// CRC-32C (Castagnoli), as iSCSI and TFRecord files use it.
std::uint32_t crc32c(std::string_view bytes);

// TensorFlow's record file. Each record is
//   u64 length | u32 masked CRC of the length | the bytes | u32 masked CRC of the bytes
// all little-endian, with masked(crc) = rotr(crc, 15) + 0xa282ead8. Records are buffered until flush(), which
// writes them at once, so a process that is killed leaves complete records, except perhaps for the last one.
class RecordFile {
 public:
  explicit RecordFile(const std::filesystem::path& path) : file_(path) {}
  ~RecordFile();  // flushes; a failure is only a warning

  void add(std::string_view record);
  void flush();

  const std::filesystem::path& path() const { return file_.path(); }
  std::int64_t size() const { return file_.size(); }  // of what is flushed

 private:
  AppendFile file_;
  std::string waiting_;
};

// The next record; nothing at the end of the file, or if the record is incomplete or damaged.
std::optional<std::string> read_record(std::istream& in);
// The number of bytes that a record takes in the file.
std::uint64_t record_size(std::string_view record);
// The offset of the first record in these bytes, which may start in the middle of a file; its checksum is
// the criterion.
std::optional<std::size_t> find_record(std::string_view bytes);

}  // namespace runner
