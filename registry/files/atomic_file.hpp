#pragma once

#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace runner {

// A file that exists completely or not at all: written without a name in the same folder, flushed to the disk
// and then given its name. Leaves no file if destroyed before commit(), or if the process is killed. A
// symbolic link stays: the file it leads to is replaced. A device or a pipe is written to directly. Throws
// IoError.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  std::filesystem::path folder() const;
  // Sets `temporary_` to a unique name in the same folder; `take` creates the file.
  template <class Take>
  void take_name(const char* purpose, const Take& take);
  void send_to_disk();
  void give_name();
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path path_;
  std::string temporary_;  // path; empty while the file has no name
  int file_ = -1;
  bool direct_ = false;        // it is a device or a pipe, which must not be replaced
  off_t size_ = 0, sent_ = 0;  // bytes written, and bytes that are being flushed
};

// The whole file at once.
void write_atomically(const std::filesystem::path& path, std::string_view text);

// Removes temporary files that killed processes have left in the folder: ".result.json.77-1". Only for a
// folder that no other process writes to.
void clear_leftovers(const std::filesystem::path& folder);

}  // namespace runner
