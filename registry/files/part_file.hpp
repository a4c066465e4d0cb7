#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace runner {

// The file next to its target that holds what a transfer has received so far: <target>.part.
class PartFile {
 public:
  explicit PartFile(const std::filesystem::path& target);  // continues the file of an earlier attempt, if any
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile();

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const { return size_; }
  bool append(std::span<const std::uint8_t> bytes);  // false: errno says why
  void clear();
  void become_target();  // flushes it to the disk, then renames it
  void remove();

 private:
  std::filesystem::path target_, path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace runner
