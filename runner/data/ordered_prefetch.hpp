#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace runner {

// Makes items 0 .. count - 1 on several threads, at most `ahead` of them in advance, and returns them in
// order. The results do not depend on the number of threads; without threads, next() makes each item.
template <class Item>
class OrderedPrefetch {
 public:
  using Make = std::function<Item(std::int64_t)>;

  OrderedPrefetch(Make make, std::int64_t count, int workers, int ahead)
      : make_(std::move(make)),
        count_(count),
        slots_(static_cast<std::size_t>(std::max({1, workers, ahead}))) {
    try {
      for (int worker = 0; worker < workers; ++worker) threads_.emplace_back([this] { work(); });
    } catch (...) {  // the system refuses more threads
      shut_down();
      throw;
    }
  }
  OrderedPrefetch(const OrderedPrefetch&) = delete;
  OrderedPrefetch& operator=(const OrderedPrefetch&) = delete;
  ~OrderedPrefetch() { shut_down(); }

  // Returns nothing after the last item. If an item could not be made, throws its error, also in later calls.
  std::optional<Item> next() {
    if (taken_ == count_) return std::nullopt;
    if (threads_.empty()) {
      Item item = make_(taken_);
      ++taken_;
      return item;
    }
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[slot_of(taken_)];
    made_.wait(lock, [&] { return slot.item || slot.error; });
    if (slot.error) std::rethrow_exception(slot.error);
    std::optional<Item> item = std::exchange(slot.item, std::nullopt);
    ++taken_;
    lock.unlock();
    room_.notify_one();
    return item;
  }

 private:
  struct Slot {
    std::optional<Item> item;
    std::exception_ptr error;
  };

  std::size_t slot_of(std::int64_t number) const { return static_cast<std::size_t>(number) % slots_.size(); }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      room_.wait(lock, [&] {
        return stopping_ || started_ == count_ ||
               started_ - taken_ < static_cast<std::int64_t>(slots_.size());
      });
      if (stopping_ || started_ == count_) return;
      const std::int64_t number = started_++;
      lock.unlock();
      Slot result;
      try {
        result.item = make_(number);
      } catch (...) {
        result.error = std::current_exception();
      }
      lock.lock();
      if (result.error) stopping_ = true;  // nothing after it will be asked for
      slots_[slot_of(number)] = std::move(result);
      made_.notify_one();
      if (stopping_ || started_ == count_) room_.notify_all();
    }
  }

  void shut_down() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  const Make make_;
  const std::int64_t count_;
  std::mutex mutex_;
  std::condition_variable made_, room_;
  std::vector<Slot> slots_;
  std::int64_t started_ = 0;  // items that workers have started
  std::int64_t taken_ = 0;    // items that next() has returned
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // last: they use everything above
};

}  // namespace runner
