#pragma once

#include <filesystem>

namespace runner {

// Held by one process at a time; others wait. Creates the file and the folders above it, and leaves them.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path);  // throws IoError
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  int descriptor_ = -1;
};

}  // namespace runner
