#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace runner {

// A file that only grows. Each piece is appended completely or not at all: it is written at once, without a
// buffer that a killed process would lose, and is removed again if it does not fit on the disk. Closing the
// file flushes it to the disk.
class AppendFile {
 public:
  AppendFile() = default;  // no file yet
  // Creates the file and its folders if they do not exist, and otherwise appends to it.
  explicit AppendFile(const std::filesystem::path& path);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();

  void append(std::string_view piece);  // throws a std::runtime_error that names the file
  std::int64_t size() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

// Flushes the open AppendFiles of this process that are in this folder to the disk, so that their contents
// survive a power failure. Files elsewhere are not flushed, because their disk may hang. Throws a
// std::runtime_error that names the file. May be called from any thread.
void flush_append_files(const std::filesystem::path& folder);

// Removes an incomplete last line, left by a process that was killed, from a text file. Throws a
// std::runtime_error if the file cannot be read.
void cut_unfinished_line(const std::filesystem::path& path);

}  // namespace runner
