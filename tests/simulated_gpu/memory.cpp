#include "memory.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "counts.hpp"
#include "graph.hpp"

namespace simulated_gpu {

namespace {

constexpr std::size_t arena_bytes = std::size_t{64} << 30, page = 4096;

struct Use {
  const char* begin;
  const char* end;
  Moment when;
  bool writes;
  std::string name;
};

struct Block {
  std::size_t bytes = 0;
  int stream =
      0;  // that allocated it: another allocation there may get its memory, in the order of that stream
  std::string made_by = "an allocation";
  std::vector<Use> uses = {};
  std::set<int> recorded = {};
};

// One range of addresses: first fit, neighbours are joined.
class Arena {
 public:
  Arena(char* visible, char* back) : visible_(visible), back_(back) { free_[visible_] = arena_bytes; }

  bool holds(const void* address) const {
    return address >= static_cast<const void*>(visible_) &&
           address < static_cast<const void*>(visible_ + arena_bytes);
  }
  bool backs(const void* address) const {
    return address >= static_cast<const void*>(back_) &&
           address < static_cast<const void*>(back_ + arena_bytes);
  }
  char* backing(const void* address) const { return back_ + (static_cast<const char*>(address) - visible_); }

  char* take(std::size_t bytes) {
    for (auto at = free_.begin(); at != free_.end(); ++at) {
      if (at->second < bytes) continue;
      char* const found = at->first;
      const std::size_t left = at->second - bytes;
      free_.erase(at);
      if (left > 0) free_[found + bytes] = left;
      return found;
    }
    throw std::bad_alloc();
  }
  void give_back(char* address, std::size_t bytes) {
    auto after = free_.lower_bound(address);
    if (after != free_.end() && address + bytes == after->first) {
      bytes += after->second;
      after = free_.erase(after);
    }
    if (after != free_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == address) {
        before->second += bytes;
        return;
      }
    }
    free_[address] = bytes;
  }

  std::map<const char*, Block> blocks;
  Block* block_at(const void* address) {
    auto next = blocks.upper_bound(static_cast<const char*>(address));
    if (next == blocks.begin()) return nullptr;
    auto& [begin, block] = *std::prev(next);
    return address < static_cast<const void*>(begin + block.bytes) ? &block : nullptr;
  }

 private:
  char* visible_;
  char* back_;
  std::map<char*, std::size_t> free_;
};

char* reserve(int protection, int file) {
  void* const range = mmap(nullptr, arena_bytes, protection,
                           (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | MAP_NORESERVE, file, 0);
  TORCH_CHECK(range != MAP_FAILED, "simulated GPU: cannot reserve ", arena_bytes, " bytes of addresses");
  return static_cast<char*>(range);
}

Arena& device_arena(int device) {
  static const auto arenas = [] {
    std::array<Arena*, most_devices> made = {};
    for (auto& arena : made) arena = new Arena(reserve(PROT_NONE, -1), reserve(PROT_READ | PROT_WRITE, -1));
    return made;
  }();
  return *arenas[static_cast<std::size_t>(device)];
}

Arena& pinned_arena() {
  static auto* const arena = [] {
    const int file = memfd_create("simulated_gpu", MFD_CLOEXEC);
    TORCH_CHECK(file >= 0 && ftruncate(file, arena_bytes) == 0, "simulated GPU: no memory to pin");
    return new Arena(reserve(PROT_READ | PROT_WRITE, file), reserve(PROT_READ | PROT_WRITE, file));
  }();
  return *arena;
}

Arena* arena_of(const void* address) {
  const int device = device_of(address);
  if (device >= 0) return &device_arena(device);
  return is_pinned(address) ? &pinned_arena() : nullptr;
}

std::string verb(bool writes) { return writes ? "writes" : "reads"; }

// ---- memory of devices
// -------------------------------------------------------------------------------------------

// A freed block that another stream may still use, although its memory can be handed out again.
struct Freed {
  Use use;
  std::string made_by;
};

struct DeviceMemory {
  c10::CachingDeviceAllocator::DeviceStats stats = {};
  std::map<int, std::vector<Freed>> freed;  // by the stream that allocated it
};

DeviceMemory& memory_of(int device) {
  static auto* const memory = new std::array<DeviceMemory, most_devices>;
  return (*memory)[static_cast<std::size_t>(device)];
}

std::int64_t limit() {
  static const std::int64_t bytes = [] {
    const char* const wanted = std::getenv("SIMULATED_GPU_MEMORY");
    return wanted ? std::atoll(wanted) : std::int64_t{8} << 30;
  }();
  return bytes;
}

constexpr auto all_kinds = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

void release(void* pointer) {
  if (!pointer) return;
  const std::lock_guard lock(state());
  const int device = device_of(pointer);
  Arena& arena = device_arena(device);
  auto node = arena.blocks.extract(static_cast<char*>(pointer));
  if (node.empty()) return;
  Block& block = node.mapped();
  DeviceMemory& memory = memory_of(device);
  for (Use& use : block.uses)
    if (use.when.stream != block.stream && !block.recorded.contains(use.when.stream) &&
        !knows(block.stream, use.when))
      memory.freed[block.stream].push_back({std::move(use), block.made_by});
  for (auto* const stat :
       {&memory.stats.allocated_bytes, &memory.stats.active_bytes, &memory.stats.requested_bytes})
    (*stat)[all_kinds].decrease(block.bytes);
  memory.stats.allocation[all_kinds].decrease(1);
  if (block.bytes >= (std::size_t{8} << 20)) madvise(arena.backing(pointer), block.bytes, MADV_DONTNEED);
  arena.give_back(static_cast<char*>(pointer), block.bytes);
}

class DeviceMemoryAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t wanted) override {
    const auto device = c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice();
    if (wanted == 0) return {nullptr, nullptr, &release, device};
    const std::size_t bytes = (wanted + 511) / 512 * 512;
    const std::lock_guard lock(state());
    DeviceMemory& memory = memory_of(device.index());
    const auto in_use = memory.stats.allocated_bytes[all_kinds].current;
    if (in_use + static_cast<std::int64_t>(bytes) > limit()) {
      ++memory.stats.num_ooms;
      TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", bytes,
                       " bytes. GPU ", int{device.index()}, " has a total capacity of ", limit(),
                       " bytes of which ", limit() - in_use, " bytes are free.");
    }
    const int stream = current_stream(device.index());
    check_reuse(memory.freed[stream], stream);
    Arena& arena = device_arena(device.index());
    char* const found = arena.take(bytes);
    arena.blocks[found] = {.bytes = bytes, .stream = stream};
    std::memset(arena.backing(found), 0xff, bytes);  // NaN, in every type of floats: what nobody wrote shows
    for (auto* const stat :
         {&memory.stats.allocated_bytes, &memory.stats.active_bytes, &memory.stats.requested_bytes})
      (*stat)[all_kinds].increase(bytes);
    memory.stats.allocation[all_kinds].increase(1);
    auto& reserved = memory.stats.reserved_bytes[all_kinds];
    if (const auto more = memory.stats.allocated_bytes[all_kinds].current - reserved.current; more > 0)
      reserved.increase(static_cast<std::size_t>(more));
    return {found, found, &release, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(backing(to), backing(from), bytes);
  }

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {
    const std::lock_guard lock(state());
    for (int device = 0; device < devices(); ++device) {
      auto& stats = memory_of(device).stats;
      auto& reserved = stats.reserved_bytes[all_kinds];
      reserved.decrease(
          static_cast<std::size_t>(reserved.current - stats.allocated_bytes[all_kinds].current));
    }
  }
  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    const std::lock_guard lock(state());
    record_stream(data.get(), number_of(stream));
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    const std::lock_guard lock(state());
    return memory_of(device).stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    reset(device, &c10::CachingAllocator::Stat::reset_accumulated);
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    reset(device, &c10::CachingAllocator::Stat::reset_peak);
  }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex device) override {
    const std::lock_guard lock(state());
    return {static_cast<std::size_t>(limit() - memory_of(device).stats.reserved_bytes[all_kinds].current),
            static_cast<std::size_t>(limit())};
  }

 private:
  static void check_reuse(std::vector<Freed>& freed, int stream) {
    std::erase_if(freed, [&](const Freed& old) { return knows(stream, old.use.when); });
    if (freed.empty()) return;
    const Freed old = std::exchange(freed, {}).front();
    fault("memory made by " + old.made_by + " was freed, and " + stream_name(stream) +
          " may hand it out again, while " + stream_name(old.use.when.stream) + " still " +
          verb(old.use.writes) + " it (" + old.use.name + "): a record_stream or a wait is missing");
  }
  static void reset(int device, void (c10::CachingAllocator::Stat::*how)()) {
    const std::lock_guard lock(state());
    auto& stats = memory_of(device).stats;
    for (auto* const kind : {&stats.allocation, &stats.allocated_bytes, &stats.reserved_bytes,
                             &stats.active_bytes, &stats.requested_bytes})
      for (auto& stat : *kind) (stat.*how)();
  }
};

[[maybe_unused]] const bool registered = (c10::SetAllocator(c10::kCUDA, &device_allocator()), true);

// ---- page-locked memory
// ------------------------------------------------------------------------------------------

std::map<const char*, Block>& dropped_pinned_blocks() {
  static auto* const blocks = new std::map<const char*, Block>;  // copies of them are still under way
  return *blocks;
}

void close_pages(const Use& use) {
  auto* const first = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(use.begin) / page * page);
  auto* const last =
      reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(use.end) + page - 1) / page * page);
  mprotect(first, static_cast<std::size_t>(last - first), use.writes ? PROT_NONE : PROT_READ);
}

void open_pages(const char* begin, Block& block) {
  if (block.uses.empty() || !std::erase_if(block.uses, [](const Use& use) { return host_knows(use.when); }))
    return;
  mprotect(const_cast<char*>(begin), block.bytes, PROT_READ | PROT_WRITE);
  for (const bool writes : {false, true})  // what is written is closed most
    for (const Use& use : block.uses)
      if (use.writes == writes) close_pages(use);
}

void release_pinned(void* pointer) {
  if (!pointer) return;
  const std::lock_guard lock(state());
  Arena& arena = pinned_arena();
  auto node = arena.blocks.extract(static_cast<char*>(pointer));
  if (node.empty()) return;
  open_pages(node.key(), node.mapped());
  if (!node.mapped().uses.empty())  // as LibTorch's own allocator does: not before the copies are done
    dropped_pinned_blocks().insert(std::move(node));
  else
    arena.give_back(static_cast<char*>(pointer), node.mapped().bytes);
}

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t wanted) override {
    if (wanted == 0) return {nullptr, nullptr, &release_pinned, c10::Device(c10::kCPU)};
    const std::size_t bytes = (wanted + page - 1) / page * page;
    const std::lock_guard lock(state());
    char* const found = pinned_arena().take(bytes);
    pinned_arena().blocks[found] = {.bytes = bytes};
    return {found, found, &release_pinned, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_pinned; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

}  // namespace

c10::DeviceAllocator& device_allocator() {
  static auto* const allocator = new DeviceMemoryAllocator;
  return *allocator;
}

c10::Allocator& pinned_allocator() {
  static auto* const allocator = new PinnedAllocator;
  return *allocator;
}

bool is_pinned(const void* address) { return pinned_arena().holds(address); }

int device_of(const void* address) {
  for (int device = 0; device < devices(); ++device)
    if (device_arena(device).holds(address)) return device;
  return -1;
}

void* backing(const void* address) {
  if (const Arena* const arena = arena_of(address)) return arena->backing(address);
  return const_cast<void*>(address);
}

Span span_of(const at::Tensor& tensor) {
  const char* const begin = static_cast<const char*>(tensor.unsafeGetTensorImpl()->storage().data()) +
                            tensor.storage_offset() * static_cast<std::int64_t>(tensor.element_size());
  if (tensor.numel() == 0) return {begin, begin};
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  return {begin, begin + (last + 1) * static_cast<std::int64_t>(tensor.element_size())};
}

void use(const at::Tensor& tensor, Moment when, bool writes, const char* name) {
  const Span span = span_of(tensor);
  Arena* const arena = span.begin == span.end ? nullptr : arena_of(span.begin);
  Block* const block = arena ? arena->block_at(span.begin) : nullptr;
  if (!block) return;
  auto& uses = block->uses;
  for (const Use& other : uses) {
    const bool meet = other.begin < span.end && span.begin < other.end;
    if (!meet || (!other.writes && !writes) || knows(when.stream, other.when)) continue;
    std::ostringstream what;
    what << tensor.toString() << ' ' << tensor.sizes();
    fault(std::string(name) + " on " + stream_name(when.stream) + " " + verb(writes) + " " + what.str() +
          " (made by " + block->made_by + ") while " + other.name + " on " + stream_name(other.when.stream) +
          " still " + verb(other.writes) + " it: the stream has to wait for it");
  }
  // A later use on the same stream stands for an earlier one that it covers.
  std::erase_if(uses, [&](const Use& other) {
    return other.when.stream == when.stream && span.begin <= other.begin && other.end <= span.end &&
           (writes || !other.writes);
  });
  uses.push_back({span.begin, span.end, when, writes, name});
  if (arena == &pinned_arena()) close_pages(uses.back());
}

void record_stream(const void* address, int stream) {
  Arena* const arena = arena_of(address);
  if (Block* const block = arena ? arena->block_at(address) : nullptr) block->recorded.insert(stream);
}

void describe_block(const at::Tensor& tensor, const char* made_by) {
  const void* const address = tensor.unsafeGetTensorImpl()->storage().data();
  Arena* const arena = arena_of(address);
  if (Block* const block = arena ? arena->block_at(address) : nullptr) block->made_by = made_by;
}

void open_pinned_pages() {
  for (auto& [begin, block] : pinned_arena().blocks) open_pages(begin, block);
  auto& dropped = dropped_pinned_blocks();
  for (auto at = dropped.begin(); at != dropped.end();) {
    open_pages(at->first, at->second);
    if (at->second.uses.empty()) pinned_arena().give_back(const_cast<char*>(at->first), at->second.bytes);
    at = at->second.uses.empty() ? dropped.erase(at) : std::next(at);
  }
}

std::string about(const void* address) {
  const int device = device_of(address);
  Arena* const arena = arena_of(address);
  if (!arena) return {};
  const Block* const block = arena->block_at(address);
  std::string text = device >= 0 ? "the host touches memory of cuda:" + std::to_string(device)
                                 : "the host touches page-locked memory during a copy";
  if (!block) return text + ", which is not allocated";
  text += ", made by " + block->made_by + " (" + std::to_string(block->bytes) + " bytes)";
  for (const Use& use : block->uses)
    if (address >= static_cast<const void*>(use.begin) && address < static_cast<const void*>(use.end))
      text += "; last " + std::string(use.writes ? "written" : "read") + " by " + use.name + " on " +
              stream_name(use.when.stream);
  return text;
}

}  // namespace simulated_gpu
