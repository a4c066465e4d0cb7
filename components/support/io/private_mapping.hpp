#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "components/support/io/mapping_guard.hpp"

namespace runner {

// A whole file in memory, read from disk only where it is touched. Writes into it stay private to this
// process, so a tensor on top of it behaves like any other.
class PrivateMapping {
 public:
  // Memory that may be written counts as this process's own from the start, also under limits such as
  // `ulimit -d`; writing into memory that may only be read ends the process.
  enum class Access { read_and_write, read_only };

  // Throws IoError that names the file and the reason: missing, unreadable, a directory ..
  static std::shared_ptr<PrivateMapping> open(const std::filesystem::path& path,
                                              Access access = Access::read_and_write);
  ~PrivateMapping();
  PrivateMapping(const PrivateMapping&) = delete;
  PrivateMapping& operator=(const PrivateMapping&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  bool contains(const void* address) const;

  // Hints about some of the bytes: they will be read soon; they are not needed for now, and are read from the
  // disk again if they are. Memory that was written to is never given back.
  void will_need(std::span<const std::byte> some) const;
  void give_back(std::span<const std::byte> some) const;

  // Reads some of the bytes now, all at once, which is faster than page by page when they are touched. False:
  // the kernel cannot do that, or the disk fails; reading from the file tells why.
  bool read_now(std::span<const std::byte> some) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  PrivateMapping(std::filesystem::path path, std::span<std::byte> bytes, Access access)
      : path_(std::move(path)), bytes_(bytes), access_(access), guard_(path_, bytes.data(), bytes.size()) {}
  bool advise(std::span<const std::byte> some, int advice) const;

  std::filesystem::path path_;
  std::span<std::byte> bytes_;
  Access access_;
  MappingGuard guard_;
};

}  // namespace runner
