#pragma once

#include <cstddef>
#include <filesystem>

namespace runner {

// If a mapped file is truncated while it is read, SIGBUS ends the process. As long as a guard for its memory
// lives, zeros are read instead, and require_whole_files() throws.
class MappingGuard {
 public:
  MappingGuard() = default;
  MappingGuard(const std::filesystem::path& path, const void* begin, std::size_t size);
  MappingGuard(MappingGuard&& other) noexcept;
  MappingGuard& operator=(MappingGuard&& other) noexcept;
  ~MappingGuard();

  struct Slot;  // what the SIGBUS handler knows about a file

 private:
  Slot* slot_ = nullptr;
};

// Throws IoError that names the file if one was truncated while it was mapped. Costs next to nothing: call it
// before data that was read from mapped files is used.
void require_whole_files();

}  // namespace runner
