#include "registry/files/mapped_file.hpp"

#include <sys/mman.h>

#include "registry/files/open_file.hpp"

namespace runner {

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  const OpenFile file(path_);
  if (file.size() == 0) throw IoError(path_.string() + " is empty.");
  void* start = ::mmap(nullptr, file.size(), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (start == MAP_FAILED) throw IoError("Cannot map " + path_.string() + ": " + last_system_error() + ".");
  bytes_ = {static_cast<const std::uint8_t*>(start), file.size()};
  guard_ = MappingGuard(path_, start, file.size());
}

MappedFile::~MappedFile() {
  guard_ = {};  // before other memory can be mapped at this address
  if (!bytes_.empty()) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace runner
