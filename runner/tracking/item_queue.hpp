#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runner/tracking/spool.hpp"

namespace runner {

// What waits for one tracker, between the thread that trains and the tracker's own. Some items wait in
// memory; with a spool, more of them wait on disk, and put() never waits. Without one put() waits for room.
class ItemQueue {
 public:
  using Seconds = std::chrono::duration<double>;

  explicit ItemQueue(std::size_t in_memory, std::unique_ptr<Spool> spool = nullptr);

  // For the thread that trains.
  // Throws once fail() was called, and where the disk is full. True: it found no room and had to wait.
  bool put(SharedItem item);
  void move_to_disk();                      // what is in memory only, if there is a spool
  void close(SharedItem last = nullptr);    // no more will come, but for one that waits in memory alone
  bool wait_until_empty(Seconds patience);  // false: it took longer

  // For the tracker's thread.
  // The oldest items, once there are some; where there are few, waits a while for more. Nothing once closed
  // and empty.
  std::vector<SharedItem> take(Seconds for_more);
  void done();                          // what was taken last has been dealt with
  void pause(Seconds time);             // ends early when close() comes
  bool closed_for(Seconds time) const;  // so long ago, or longer
  void fail(std::string reason);        // the queue is no longer read

  std::size_t size() const;  // what was taken and is not done included

 private:
  using Clock = std::chrono::steady_clock;

  std::size_t size_now() const {
    return memory_.size() + taken_.size() + (spool_ ? spool_->size() : 0) + (last_ ? 1 : 0);
  }
  void move_to_disk_now();

  const std::size_t in_memory_;
  const std::unique_ptr<Spool> spool_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // for the tracker's thread
  std::condition_variable drained_;  // for the one that trains
  // Either memory or the spool holds what waits, never both.
  std::vector<SharedItem> memory_;
  std::vector<SharedItem> taken_;  // from memory, and nowhere on disk yet
  bool from_spool_ = false;        // what was taken last is at the front of the spool
  SharedItem last_;
  bool hurry_ = false;  // wait_until_empty() is waiting
  std::optional<Clock::time_point> closed_;
  std::optional<std::string> failure_;
};

}  // namespace runner
