#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runner/tracking/spool.hpp"

namespace runner {

using SharedItem = std::shared_ptr<const Item>;

// What waits for one tracker, between the thread that trains and the tracker's own. Some items wait in
// memory; with a spool the rest waits on disk, and put() never waits. Without one put() waits for room.
class ItemQueue {
 public:
  using Seconds = std::chrono::duration<double>;

  explicit ItemQueue(std::size_t in_memory, std::unique_ptr<Spool> spool = nullptr);

  // For the thread that trains.
  // Throws once fail() was called, and where the disk is full. True: it found no room and had to wait.
  bool put(SharedItem item);
  void close();                             // no more will come
  bool wait_until_empty(Seconds patience);  // false: it took longer

  // For the tracker's thread.
  // The oldest items, once there are some; where there are few, waits a while for more. Nothing once closed
  // and empty.
  std::vector<SharedItem> take(Seconds for_more);
  void done();                          // what was taken last has been dealt with
  void pause(Seconds time);             // ends early when close() comes
  bool closed_for(Seconds time) const;  // so long ago, or longer
  void fail(std::string reason);        // nobody will take anything any more

  std::size_t size() const;  // what was taken and is not done included

 private:
  using Clock = std::chrono::steady_clock;

  std::size_t size_now() const { return memory_.size() + taken_ + (spool_ ? spool_->size() : 0); }

  const std::size_t in_memory_;
  const std::unique_ptr<Spool> spool_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // for the tracker's thread
  std::condition_variable drained_;  // for the one that trains
  std::deque<SharedItem> memory_;    // older than what is in the spool
  std::size_t taken_ = 0;            // from memory
  bool from_spool_ = false;          // where the last came from
  bool hurry_ = false;               // somebody waits until it is empty
  std::optional<Clock::time_point> closed_;
  std::optional<std::string> failure_;
};

}  // namespace runner
