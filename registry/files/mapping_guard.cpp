#include "registry/files/mapping_guard.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>
#include <string>
#include <utility>

#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"

namespace runner {

struct MappingGuard::Slot {
  std::atomic<std::uintptr_t> begin{0};  // 0: free
  std::atomic<std::size_t> size{0};
  std::atomic<bool> cut{false};
  std::string path;
};

namespace {

using Slot = MappingGuard::Slot;

// A signal handler may not allocate or lock, so the slots are fixed. Files beyond these are not guarded.
std::array<Slot, 1024> slots;
std::mutex slots_mutex;  // for taking slots and reading their paths
std::atomic<bool> any_cut{false};

void on_bus_error(int, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Slot& slot : slots) {
    const std::uintptr_t begin = slot.begin.load();
    if (begin == 0 || at < begin || at >= begin + slot.size.load()) continue;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t first = at / page * page;
    const std::size_t rest = begin + slot.size.load() - first;
    void* made = ::mmap(reinterpret_cast<void*>(first), rest, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) break;
    slot.cut = true;
    any_cut = true;
    return;
  }
  std::signal(SIGBUS, SIG_DFL);  // not ours: it is raised again and ends the process
}

void install() {
  struct sigaction now{};
  if (::sigaction(SIGBUS, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;  // not our handler
  struct sigaction action{};
  action.sa_sigaction = &on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

MappingGuard::MappingGuard(const std::filesystem::path& path, const void* begin, std::size_t size) {
  if (size == 0) return;
  static std::once_flag installed;
  std::call_once(installed, install);
  const std::lock_guard lock(slots_mutex);
  for (Slot& slot : slots) {
    if (slot.begin.load() != 0) continue;
    slot.path = path.string();
    slot.cut = false;
    slot.size = size;
    slot.begin = reinterpret_cast<std::uintptr_t>(begin);
    slot_ = &slot;
    return;
  }
}

MappingGuard::MappingGuard(MappingGuard&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}

MappingGuard& MappingGuard::operator=(MappingGuard&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

MappingGuard::~MappingGuard() {
  if (slot_) slot_->begin = 0;
}

void require_whole_files() {
  if (!any_cut.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(slots_mutex);
  for (const Slot& slot : slots) {
    if (slot.begin.load() != 0 && slot.cut.load())
      throw IoError(escaped_name(slot.path) +
                    " was truncated while it was being read. Restore it, and do not change it during a "
                    "run.");
  }
}

}  // namespace runner
