#include "registry/files/open_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "registry/files/beneath.hpp"

namespace runner {

std::string last_system_error() { return std::generic_category().message(errno); }

// Without O_NONBLOCK, opening a pipe would wait for a writer that may never come.
constexpr int to_read = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

OpenFile::OpenFile(const std::filesystem::path& path)
    : path_(path), descriptor_(::open(path.c_str(), to_read)) {
  require_regular();
}

OpenFile::OpenFile(const std::filesystem::path& folder, const std::filesystem::path& name)
    : path_(folder / name), descriptor_(open_beneath(folder, name, to_read)) {
  if (descriptor_ < 0 && left_the_folder(errno))
    throw IoError(path_.string() + " is a link that leaves the folder " + folder.string() + ".");
  require_regular();
}

void OpenFile::require_regular() {
  if (descriptor_ < 0) throw IoError("Cannot open " + path_.string() + ": " + last_system_error() + ".");
  struct stat status{};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (known && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::size_t>(status.st_size);
    return;
  }
  const std::string problem =
      known ? (S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is not a regular file")
            : "cannot be examined: " + last_system_error();
  ::close(descriptor_);
  throw IoError(path_.string() + " " + problem + ".");
}

OpenFile::~OpenFile() { ::close(descriptor_); }

void OpenFile::read_at(std::size_t position, std::span<std::uint8_t> into) const {
  while (!into.empty()) {
    const ssize_t count = ::pread(descriptor_, into.data(), into.size(), static_cast<off_t>(position));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw IoError("Cannot read " + path_.string() + ": " + last_system_error() + ".");
    if (count == 0) throw IoError(path_.string() + " was truncated while it was being read.");
    position += static_cast<std::size_t>(count);
    into = into.subspan(static_cast<std::size_t>(count));
  }
}

void read_file(const std::filesystem::path& path, std::vector<std::uint8_t>& into, std::size_t most) {
  const OpenFile file(path);
  if (file.size() > most) {
    throw IoError(path.string() + " has " + std::to_string(file.size()) + " bytes, more than the limit of " +
                  std::to_string(most) + ".");
  }
  into.resize(file.size());
  file.read_at(0, into);
}

std::string read_file(const std::filesystem::path& path, std::size_t most) {
  std::vector<std::uint8_t> bytes;
  read_file(path, bytes, most);
  return {bytes.begin(), bytes.end()};
}

}  // namespace runner
