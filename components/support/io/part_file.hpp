#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace runner {

// The file beside its target in which a transfer collects what has arrived: <target>.part.
class PartFile {
 public:
  explicit PartFile(const std::filesystem::path& target);  // opens what an earlier attempt left, or a new one
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile();

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const { return size_; }
  bool append(std::span<const std::uint8_t> bytes);  // false: errno says why
  void clear();
  void become_target();  // durable first, then at once under its real name
  void remove();

 private:
  std::filesystem::path target_, path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace runner
