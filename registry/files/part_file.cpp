#include "registry/files/part_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "registry/files/open_file.hpp"

namespace runner {

PartFile::PartFile(const std::filesystem::path& target) : target_(target), path_(target.string() + ".part") {
  std::error_code problem;
  std::filesystem::create_directories(target.parent_path(), problem);  // if it fails, so does open() below
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw IoError("Cannot write " + path_.string() + ": " + last_system_error() + ".");
  size_ = ::lseek(descriptor_, 0, SEEK_END);
}

PartFile::~PartFile() {
  ::close(descriptor_);
  if (size_ == 0) remove();  // nothing to continue from
}

bool PartFile::append(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    size_ += count;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

void PartFile::clear() {
  if (::ftruncate(descriptor_, 0) != 0)
    throw IoError("Cannot write " + path_.string() + ": " + last_system_error() + ".");
  size_ = 0;
}

void PartFile::become_target() {
  std::error_code problem;
  if (::fsync(descriptor_) != 0) problem = {errno, std::generic_category()};
  if (!problem) std::filesystem::rename(path_, target_, problem);
  if (problem) throw IoError("Cannot write " + target_.string() + ": " + problem.message() + ".");
}

void PartFile::remove() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace runner
