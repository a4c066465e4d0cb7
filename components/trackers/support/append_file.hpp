#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace runner {

// A file that only grows, in pieces that are there whole or not at all: each piece is one write, without a
// buffer that a killed process would lose, and a piece that did not fit on the disk is taken back. Closing it
// flushes it to the disk.
class AppendFile {
 public:
  AppendFile() = default;  // of no file yet
  explicit AppendFile(
      const std::filesystem::path& path);  // made where missing, with its folders; else continued
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();

  void append(std::string_view piece);  // throws std::runtime_error that names the file
  std::int64_t size() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

// Flushes to the disk what was appended to the files below this folder that this process has open, so that it
// survives a power cut too. Files elsewhere are left alone: their disk may hang. Throws std::runtime_error
// that names the file. From any thread.
void flush_append_files(const std::filesystem::path& folder);

// Cuts off what follows the last line end of a text file: the half line of a process that was killed.
void cut_unfinished_line(const std::filesystem::path& path);

}  // namespace runner
