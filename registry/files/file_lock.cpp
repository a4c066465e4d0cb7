#include "registry/files/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "registry/files/open_file.hpp"

namespace runner {

namespace {

int flock_uninterrupted(int descriptor, int operation) {
  int result = 0;
  do {
    result = ::flock(descriptor, operation);
  } while (result != 0 && errno == EINTR);
  return result;
}

}  // namespace

void FileLock::open(const std::filesystem::path& path) {
  std::error_code problem;
  std::filesystem::create_directories(path.parent_path(), problem);  // if it fails, so does open() below
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor_ < 0) throw IoError("Cannot write " + path.string() + ": " + last_system_error() + ".");
}

FileLock::FileLock(const std::filesystem::path& path) {
  open(path);
  held_ = flock_uninterrupted(descriptor_, LOCK_EX) == 0;
}

std::unique_ptr<FileLock> FileLock::try_lock(const std::filesystem::path& path) {
  std::unique_ptr<FileLock> lock(new FileLock);
  lock->open(path);
  lock->held_ = flock_uninterrupted(lock->descriptor_, LOCK_EX | LOCK_NB) == 0;
  // Any other error (ENOLCK, ENOSYS, EOPNOTSUPP) is about the file system, not about another process.
  if (!lock->held_ && errno == EWOULDBLOCK) return nullptr;
  return lock;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void FileLock::note(std::string_view text) const {
  if (::ftruncate(descriptor_, 0) == 0) [[maybe_unused]]
    const auto written = ::pwrite(descriptor_, text.data(), text.size(), 0);
}

FileLock::State FileLock::state_of(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // it may be a pipe
  if (descriptor < 0) return State::free;
  State state = State::free;
  if (flock_uninterrupted(descriptor, LOCK_SH | LOCK_NB) != 0)
    state = errno == EWOULDBLOCK ? State::held : State::unknown;
  ::close(descriptor);
  return state;
}

}  // namespace runner
