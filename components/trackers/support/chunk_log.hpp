#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "components/trackers/support/append_file.hpp"

namespace runner {

// The log of LevelDB as W&B and SwanLab write it: a header of seven bytes, then chunks
//   u32 CRC-32 of type and data | u16 length | u8 type (1 full, 2 first, 3 middle, 4 last) | data
// all little-endian. No chunk crosses a border of 32 KiB, counted from the start of the file; where fewer
// than seven bytes are left before one they are zero.
class ChunkLog {
 public:
  // `header`: the seven bytes. Continues a file that is there, without what a killed process left half
  // written. Throws std::runtime_error where the file is another one.
  ChunkLog(const std::filesystem::path& path, std::string_view header);

  void add(std::string_view record);  // in memory until ..
  void flush();                       // .. here, in one piece

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  AppendFile file_;
  std::string waiting_;
  std::int64_t position_ = 0;  // after what waits
};

// Every whole record of a file, in order. Returns where the last one ends.
std::int64_t read_chunk_log(const std::filesystem::path& path, std::string_view header,
                            const std::function<void(std::string_view record)>& visit);

// Drops the other records, in one move.
void keep_records(const std::filesystem::path& path, std::string_view header,
                  const std::function<bool(std::string_view record)>& wanted);

}  // namespace runner
