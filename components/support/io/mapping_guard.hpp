#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace runner {

// A mapped file that somebody cuts short while it is read kills the process, by SIGBUS. As long as a guard
// for its memory lives, zeros are read there instead, and require_whole_files() tells.
class MappingGuard {
 public:
  MappingGuard() = default;
  MappingGuard(const std::filesystem::path& path, const void* begin, std::size_t size);
  MappingGuard(MappingGuard&& other) noexcept;
  MappingGuard& operator=(MappingGuard&& other) noexcept;
  ~MappingGuard();

  struct Slot;  // what the handler of SIGBUS knows of a file

 private:
  Slot* slot_ = nullptr;
};

// Throws IoError that names the file where one became shorter while it was mapped. Costs next to nothing:
// code that passes on what was read from mapped files asks first.
void require_whole_files();

}  // namespace runner
