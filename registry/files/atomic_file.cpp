#include "registry/files/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "registry/base/ascii.hpp"
#include "registry/files/open_file.hpp"

namespace runner {

namespace {

// Whether take_name(), now or in an earlier version, gives such names to files of the kinds that runs write.
bool is_leftover(std::string_view name) {
  const auto dot = name.rfind('.');
  if (!name.starts_with('.') || dot == 0 || dot == name.npos) return false;
  const std::string_view target = name.substr(1, dot - 1), ending = name.substr(dot + 1);
  const auto of_kind = [&](std::string_view kind) { return target.ends_with(kind); };
  constexpr std::string_view kinds[] = {".safetensors", ".toml", ".json", ".html", ".txt"};
  if (std::ranges::none_of(kinds, of_kind)) return false;
  const auto is_random = [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto is_numbered = [&](char c) { return is_digit(c) || c == '-'; };
  return (ending.size() == 6 && std::ranges::all_of(ending, is_random)) ||
         (ending.find('-') != ending.npos && std::ranges::all_of(ending, is_numbered));
}

// The file that symbolic links lead to; it need not exist. The links form no circle.
std::filesystem::path behind_links(std::filesystem::path path) {
  std::error_code no_link;
  for (;;) {
    const auto next = std::filesystem::read_symlink(path, no_link);
    if (no_link) return path;
    path = path.parent_path() / next;
  }
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  struct stat status{};
  bool exists = ::lstat(path_.c_str(), &status) == 0;
  const bool is_link = exists && S_ISLNK(status.st_mode);
  if (is_link) {  // asks the system first: what the links in /proc/self/fd contain are no paths
    exists = ::stat(path_.c_str(), &status) == 0;
    if (!exists && errno != ENOENT) fail("write");
  }
  direct_ = exists && !S_ISREG(status.st_mode);
  if (direct_) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) fail("write");
    return;
  }
  if (is_link) path_ = behind_links(std::move(path_));
  // It has no name until it is complete: a process that is killed leaves no file.
  file_ = ::open(folder().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (file_ >= 0) return;
  take_name("write", [&](const char* name) {  // the file system does not support that
    file_ = ::open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    return file_ >= 0;
  });
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

std::filesystem::path AtomicFile::folder() const {
  return path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
}

template <class Take>
void AtomicFile::take_name(const char* purpose, const Take& take) {
  static std::atomic<unsigned> number{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string ending = std::to_string(::getpid()) + "-" + std::to_string(++number);
    std::string name = (folder() / ("." + path_.filename().string() + "." + ending)).string();
    if (take(name.c_str())) {
      temporary_ = std::move(name);
      return;
    }
    if (errno != EEXIST) break;
  }
  fail(purpose);
}

// Under a temporary name first: a link cannot replace an existing file, a rename can.
void AtomicFile::give_name() {
  const std::string open_file = "/proc/self/fd/" + std::to_string(file_);
  take_name("finish writing", [&](const char* name) {
    return ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
  });
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    constexpr std::size_t at_once = std::size_t{16} << 20;
    const ssize_t written = ::write(file_, bytes.data(), std::min(bytes.size(), at_once));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    size_ += written;
    send_to_disk();
  }
}

// Starts writing to the disk early, so that little is left for fsync, which also reports errors.
void AtomicFile::send_to_disk() {
  constexpr off_t worthwhile = off_t{8} << 20;
  if (size_ - sent_ < worthwhile) return;
  ::sync_file_range(file_, sent_, size_ - sent_, SYNC_FILE_RANGE_WRITE);
  sent_ = size_;
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  const bool cannot_flush = ::fsync(file_) != 0;
  if (cannot_flush && !(direct_ && errno == EINVAL)) fail("finish writing");  // a pipe has no disk
  if (temporary_.empty() && !direct_) give_name();
  const int file = std::exchange(file_, -1);
  if (::close(file) != 0) fail("finish writing");
  if (direct_) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename");
  temporary_.clear();
  // The rename itself must survive a power failure, too; not all file systems can flush folders, so errors
  // are ignored.
  const int handle = ::open(folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;
  ::fsync(handle);
  ::close(handle);
}

void write_atomically(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void clear_leftovers(const std::filesystem::path& folder) {
  std::error_code ignored;  // files that cannot be removed do no harm
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.is_regular_file(ignored) && is_leftover(entry.path().filename().string()))
      std::filesystem::remove(entry.path(), ignored);
  }
}

void AtomicFile::fail(const char* what) const {
  throw IoError("Cannot " + std::string(what) + " " + path_.string() + ": " + last_system_error() + ".");
}

}  // namespace runner
