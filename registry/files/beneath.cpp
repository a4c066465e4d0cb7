#include "registry/files/beneath.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <deque>

namespace runner {

namespace fs = std::filesystem;

namespace {

// Closes it and keeps errno.
void close_quietly(int descriptor) {
  const int problem = errno;
  ::close(descriptor);
  errno = problem;
}

// For a kernel before 5.6, or a sandbox that does not know openat2: follows no link at all.
int open_without_links(int folder, const fs::path& name, int flags, mode_t mode) {
  int place = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
  const fs::path parent = name.parent_path();
  for (const fs::path& part : parent) {
    if (part == ".." || part.is_absolute()) {
      close_quietly(place);
      errno = EXDEV;
      return -1;
    }
    if (place < 0) return -1;
    const int next = ::openat(place, part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close_quietly(place);
    place = next;
  }
  if (place < 0) return -1;
  const int file = ::openat(place, name.filename().c_str(), flags | O_NOFOLLOW, mode);
  close_quietly(place);
  return file;
}

}  // namespace

int open_beneath(const fs::path& folder, const fs::path& name, int flags, mode_t mode) {
  const int place = ::open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (place < 0) return -1;
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  int file = -1;
  do {  // EAGAIN: something was renamed meanwhile
    file = static_cast<int>(::syscall(SYS_openat2, place, name.c_str(), &how, sizeof how));
  } while (file < 0 && (errno == EINTR || errno == EAGAIN));
  if (file < 0 && (errno == ENOSYS || errno == EPERM))
    file = open_without_links(place, name, flags | O_CLOEXEC, mode);
  close_quietly(place);
  return file;
}

std::optional<fs::path> goal_of(const fs::path& path) {
  constexpr int most_links = 40;  // as the kernel
  std::error_code problem;
  const fs::path whole = fs::absolute(path, problem);
  if (problem) return std::nullopt;
  std::deque<fs::path> rest(whole.begin(), whole.end());
  fs::path goal;
  for (int links = 0; !rest.empty();) {
    const fs::path part = rest.front();
    rest.pop_front();
    if (part.is_absolute()) {
      goal = part;
    } else if (part == "..") {
      goal = goal.parent_path();
    } else if (!part.empty() && part != ".") {
      const fs::path next = goal / part;
      const fs::path target = fs::read_symlink(next, problem);
      if (problem) {  // not a link
        goal = next;
      } else {
        if (++links > most_links) return std::nullopt;
        rest.insert(rest.begin(), target.begin(), target.end());
      }
    }
  }
  return goal;
}

bool left_the_folder(int problem) { return problem == EXDEV || problem == ELOOP; }

}  // namespace runner
