#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "registry/files/mapping_guard.hpp"

namespace runner {

// A whole file mapped into memory; a page is read from the disk when it is first touched. Writes are private
// to this process, so a tensor on this memory behaves like any other.
class PrivateMapping {
 public:
  // Writable memory counts as memory of this process from the start, also under limits such as `ulimit -d`;
  // writing into read-only memory ends the process.
  enum class Access { read_and_write, read_only };

  // Throws IoError that names the file and the reason: missing, unreadable, a directory ..
  static std::shared_ptr<PrivateMapping> open(const std::filesystem::path& path,
                                              Access access = Access::read_and_write);
  ~PrivateMapping();
  PrivateMapping(const PrivateMapping&) = delete;
  PrivateMapping& operator=(const PrivateMapping&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  bool contains(const void* address) const;

  // Hints about some of the bytes: they will be read soon, or they are not needed for now and can be read
  // from the disk again later. Writable memory is never given back.
  void will_need(std::span<const std::byte> some) const;
  void give_back(std::span<const std::byte> some) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  PrivateMapping(std::filesystem::path path, std::span<std::byte> bytes, Access access)
      : path_(std::move(path)), bytes_(bytes), access_(access), guard_(path_, bytes.data(), bytes.size()) {}
  void advise(std::span<const std::byte> some, int advice) const;

  std::filesystem::path path_;
  std::span<std::byte> bytes_;
  Access access_;
  MappingGuard guard_;
};

}  // namespace runner
