#include "components/support/io/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "components/support/io/open_file.hpp"

namespace runner {

FileLock::FileLock(const std::filesystem::path& path) {
  std::error_code problem;
  std::filesystem::create_directories(path.parent_path(), problem);  // the message below says it better
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw IoError("Cannot write " + path.string() + ": " + last_system_error() + ".");
  while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace runner
