#pragma once

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <limits>
#include <new>

namespace runner::testing {

// The tensors of one rank: what they take now, the most that they have ever taken, and what they may take.
class TensorMemory {
 public:
  explicit TensorMemory(std::int64_t limit = std::numeric_limits<std::int64_t>::max()) : limit_(limit) {}

  bool add(std::int64_t bytes) {
    const std::int64_t now = now_ += bytes;
    if (bytes > 0 && now > limit_) {
      now_ -= bytes;
      return false;
    }
    std::int64_t most = most_;
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
    return true;
  }
  std::int64_t now() const { return now_; }
  std::int64_t most() const { return most_; }
  void forget_most() { most_ = now_.load(); }
  void set_limit(std::int64_t limit) { limit_ = limit; }

 private:
  std::atomic<std::int64_t> now_ = 0, most_ = 0, limit_;
};

// Counts what the thread of a rank allocates, whichever thread frees it: the group's threads do, too.
class CountingAllocator final : public c10::Allocator {
 public:
  static inline thread_local TensorMemory* memory = nullptr;

  c10::DataPtr allocate(std::size_t bytes) override {
    const auto count = static_cast<std::int64_t>(bytes);
    if (memory && !memory->add(count)) throw std::bad_alloc();
    auto* const block = static_cast<std::byte*>(c10::alloc_cpu(header + bytes));
    new (block) Counted{memory, count};
    // Who asks for raw memory needs the data to be its own context.
    return {block + header, block + header, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  struct Counted {
    TensorMemory* memory;
    std::int64_t bytes;
  };
  static constexpr std::size_t header = 64;  // before the data, which stays aligned
  static void release(void* data) {
    std::byte* const block = static_cast<std::byte*>(data) - header;
    const Counted& counted = *reinterpret_cast<Counted*>(block);
    if (counted.memory) counted.memory->add(-counted.bytes);
    c10::free_cpu(block);
  }
};

// All tensors of this process come from the allocator as long as this lives.
class CountedTensors {
 public:
  CountedTensors() {
    static CountingAllocator counting;  // some tensors live on
    c10::SetCPUAllocator(&counting, priority);
  }
  ~CountedTensors() { c10::SetCPUAllocator(before_, priority); }
  CountedTensors(const CountedTensors&) = delete;
  CountedTensors& operator=(const CountedTensors&) = delete;

  // Never gone: a tensor may outlive the test, in the memory of LibTorch's own threads.
  static TensorMemory& new_memory() {
    static std::deque<TensorMemory> memories;
    return memories.emplace_back();
  }

 private:
  static constexpr std::uint8_t priority = 255;
  c10::Allocator* before_ = c10::GetCPUAllocator();
};

// What this thread allocates is counted here as long as this lives.
class CountOnThisThread {
 public:
  explicit CountOnThisThread(TensorMemory& memory) { CountingAllocator::memory = &memory; }
  ~CountOnThisThread() { CountingAllocator::memory = nullptr; }
  CountOnThisThread(const CountOnThisThread&) = delete;
  CountOnThisThread& operator=(const CountOnThisThread&) = delete;
};

}  // namespace runner::testing
