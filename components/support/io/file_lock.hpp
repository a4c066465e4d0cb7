#pragma once

#include <filesystem>
#include <memory>

namespace runner {

// Held by one process at a time; others wait. Creates the file and the folders above it, and leaves them.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path);                          // throws IoError
  static std::unique_ptr<FileLock> try_lock(const std::filesystem::path& path);  // none: another holds it
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  FileLock() = default;
  void open(const std::filesystem::path& path);

  int descriptor_ = -1;
};

}  // namespace runner
