#include "components/support/io/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "components/support/io/open_file.hpp"

namespace runner {

void FileLock::open(const std::filesystem::path& path) {
  std::error_code problem;
  std::filesystem::create_directories(path.parent_path(), problem);  // the message below says it better
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw IoError("Cannot write " + path.string() + ": " + last_system_error() + ".");
}

FileLock::FileLock(const std::filesystem::path& path) {
  open(path);
  while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

std::unique_ptr<FileLock> FileLock::try_lock(const std::filesystem::path& path) {
  std::unique_ptr<FileLock> lock(new FileLock);
  lock->open(path);
  if (::flock(lock->descriptor_, LOCK_EX | LOCK_NB) != 0) return nullptr;
  return lock;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace runner
