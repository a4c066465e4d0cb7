#include "components/trackers/append_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "components/trackers/path_below.hpp"
#include "registry/files/lines.hpp"

namespace runner {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw std::runtime_error("Cannot write " + path.string() + ": " + std::strerror(error) + ".");
}

// Files with data that is not yet flushed to the disk, by descriptor.
struct Unflushed {
  std::mutex mutex;
  std::map<int, std::filesystem::path> files;
} unflushed;

}  // namespace

void flush_append_files(const std::filesystem::path& folder) {
  const std::lock_guard lock(unflushed.mutex);  // so that no file is closed during fsync
  for (auto each = unflushed.files.begin(); each != unflushed.files.end();) {
    const auto& [file, path] = *each;
    if (!path_below(folder, path)) {
      ++each;
      continue;
    }
    // Devices and pipes cannot be flushed.
    if (::fsync(file) != 0 && errno != EINVAL && errno != ENOTSUP) fail(path, errno);
    each = unflushed.files.erase(each);
  }
}

AppendFile::AppendFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) fail(path, error.value());
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail(path, errno);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  return *this;
}

AppendFile::~AppendFile() {
  if (file_ < 0) return;
  bool unwritten = false;
  {
    const std::lock_guard lock(unflushed.mutex);
    unwritten = unflushed.files.erase(file_) > 0;
  }
  if (unwritten) ::fsync(file_);
  ::close(file_);
}

std::int64_t AppendFile::size() const {
  struct stat facts{};
  if (::fstat(file_, &facts) != 0) fail(path_, errno);
  return facts.st_size;
}

void AppendFile::append(std::string_view piece) {
  const std::int64_t before = size();
  while (!piece.empty()) {
    const ssize_t written = ::write(file_, piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      [[maybe_unused]] const int undone = ::ftruncate(file_, before);  // not possible for a device
      fail(path_, error);
    }
    piece.remove_prefix(static_cast<std::size_t>(written));
  }
  const std::lock_guard lock(unflushed.mutex);
  unflushed.files.emplace(file_, path_);
}

void cut_unfinished_line(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return;
  std::uint64_t size = 0, end = 0;
  {
    const OpenFile file(path);
    size = end = file.size();
    for (std::vector<std::uint8_t> block; end > 0;) {
      constexpr std::uint64_t most = 1 << 20;
      block.resize(std::min(most, end));
      file.read_at(end - block.size(), block);
      const auto last = std::find(block.rbegin(), block.rend(), '\n');
      end -= static_cast<std::uint64_t>(last - block.rbegin());
      if (last != block.rend()) break;
      if (size - end > longest_line) refuse_long_line(path);
    }
  }
  if (end < size) std::filesystem::resize_file(path, end);
}

}  // namespace runner
