#pragma once

#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace runner {

// A file that is there complete or not at all: written without a name in the same folder, flushed to the disk
// and then named. Destroyed before commit(), or killed, it leaves no file. Errors are IoError.
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
  // Sets `temporary_` to a name beside the file that nobody else has; `take` claims it.
  template <class Take>
  void take_name(const char* purpose, const Take& take);
  void send_to_disk();
  void give_name();
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path path_;
  std::string temporary_;  // empty while it has no name
  int file_ = -1;
  off_t size_ = 0, sent_ = 0;  // written so far, and of it what is on its way to the disk
};

// Removes what AtomicFiles of processes that were killed have left in the folder: ".result.json.77-1". Only
// for a folder that nobody else writes to.
void clear_leftovers(const std::filesystem::path& folder);

}  // namespace runner
