#include "components/support/io/private_mapping.hpp"

#include <sys/mman.h>

#include "components/support/io/open_file.hpp"

namespace runner {

std::shared_ptr<PrivateMapping> PrivateMapping::open(const std::filesystem::path& path) {
  const OpenFile file(path);
  if (file.size() == 0)
    return std::shared_ptr<PrivateMapping>(new PrivateMapping(path, {}));  // cannot be mapped
  void* data = ::mmap(nullptr, file.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE, file.descriptor(), 0);
  if (data == MAP_FAILED) throw IoError("Cannot map " + path.string() + ": " + last_system_error() + ".");
  return std::shared_ptr<PrivateMapping>(
      new PrivateMapping(path, {static_cast<std::byte*>(data), file.size()}));
}

PrivateMapping::~PrivateMapping() {
  guard_ = {};  // before somebody else's memory is at the same place
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace runner
