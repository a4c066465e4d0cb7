#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "components/trackers/append_file.hpp"

namespace runner {

// LevelDB's log format as W&B and SwanLab use it: a header of seven bytes, then chunks
//   u32 CRC-32 of type and data | u16 length | u8 type (1 full, 2 first, 3 middle, 4 last) | data
// all little-endian. No chunk crosses the end of a 32 KiB block, counted from the start of the file; if fewer
// than seven bytes are left in a block, they are zero.
class ChunkLog {
 public:
  // `header`: the seven bytes. Continues an existing file, after removing a record that a killed process left
  // incomplete. Throws std::runtime_error if the file has another header.
  ChunkLog(const std::filesystem::path& path, std::string_view header);

  void add(std::string_view record);  // only buffers it
  void flush();                       // writes the buffered records at once

  const std::filesystem::path& path() const { return file_.path(); }
  std::int64_t records() const { return records_; }  // in the file, and buffered

 private:
  AppendFile file_;
  std::string waiting_;
  std::int64_t position_ = 0;  // in the file, after the buffered records
  std::int64_t records_ = 0;
};

// Visits every complete record of a file, in order. Returns the offset at which the last one ends.
std::int64_t read_chunk_log(const std::filesystem::path& path, std::string_view header,
                            const std::function<void(std::string_view record)>& visit);

// Removes all other records; the file is replaced atomically. `index`: the number of records before this one.
void keep_records(const std::filesystem::path& path, std::string_view header,
                  const std::function<bool(std::string_view record, std::int64_t index)>& wanted);

}  // namespace runner
