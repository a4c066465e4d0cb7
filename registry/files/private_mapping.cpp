#include "registry/files/private_mapping.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "registry/files/open_file.hpp"

namespace runner {

std::shared_ptr<PrivateMapping> PrivateMapping::open(const std::filesystem::path& path, Access access) {
  const OpenFile file(path);
  if (file.size() == 0)
    return std::shared_ptr<PrivateMapping>(new PrivateMapping(path, {}, access));  // cannot be mapped
  const int protection = access == Access::read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  void* data = ::mmap(nullptr, file.size(), protection, MAP_PRIVATE, file.descriptor(), 0);
  if (data == MAP_FAILED) throw IoError("Cannot map " + path.string() + ": " + last_system_error() + ".");
  return std::shared_ptr<PrivateMapping>(
      new PrivateMapping(path, {static_cast<std::byte*>(data), file.size()}, access));
}

bool PrivateMapping::contains(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address),
             begin = reinterpret_cast<std::uintptr_t>(bytes_.data());
  return at >= begin && at < begin + bytes_.size();
}

// For whole pages, including other bytes on the first and the last one. Errors are ignored: it is only a
// hint.
void PrivateMapping::advise(std::span<const std::byte> some, int advice) const {
  if (some.empty() || !contains(some.data())) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(some.data()) / page * page;
  const auto end = std::min(reinterpret_cast<std::uintptr_t>(some.data() + some.size()),
                            reinterpret_cast<std::uintptr_t>(bytes_.data() + bytes_.size()));
  ::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

void PrivateMapping::will_need(std::span<const std::byte> some) const { advise(some, MADV_WILLNEED); }

void PrivateMapping::give_back(std::span<const std::byte> some) const {
  if (access_ == Access::read_only) advise(some, MADV_DONTNEED);
}

PrivateMapping::~PrivateMapping() {
  guard_ = {};  // before other memory can be mapped at this address
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace runner
