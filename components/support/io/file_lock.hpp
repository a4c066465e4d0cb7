#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace runner {

// Held by one process at a time; others wait. Creates the file and the folders above it, and leaves them.
// Where the file system has no locks, nothing is locked, and held() says so.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path);                          // throws IoError
  static std::unique_ptr<FileLock> try_lock(const std::filesystem::path& path);  // none: another holds it
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  bool held() const { return held_; }
  // Replaces what is in the file: who holds it. Best effort, because it is only for others to read.
  void note(std::string_view text) const;

  enum class State { free, held, unknown };  // unknown: there are no locks here
  // Takes the lock for a moment, together with others that ask.
  static State state_of(const std::filesystem::path& path);

 private:
  FileLock() = default;
  void open(const std::filesystem::path& path);

  int descriptor_ = -1;
  bool held_ = false;
};

}  // namespace runner
