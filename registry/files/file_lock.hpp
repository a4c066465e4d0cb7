#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace runner {

// Held by one process at a time; others wait. Creates the file and its parent folders and does not remove
// them. If the file system has no locks, nothing is locked and held() is false.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path);                          // throws IoError
  static std::unique_ptr<FileLock> try_lock(const std::filesystem::path& path);  // null: it is held
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  bool held() const { return held_; }
  int descriptor() const { return descriptor_; }  // a child process that inherits it holds the lock, too
  // Writes into the file who holds it. Errors are ignored, because it is only information for others.
  void note(std::string_view text) const;

  enum class State { free, held, unknown };  // unknown: the file system has no locks
  // Takes a shared lock for a moment: several callers can ask at once, but try_lock() may fail meanwhile.
  static State state_of(const std::filesystem::path& path);

 private:
  FileLock() = default;
  void open(const std::filesystem::path& path);

  int descriptor_ = -1;
  bool held_ = false;
};

}  // namespace runner
