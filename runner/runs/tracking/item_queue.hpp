#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runner/runs/tracking/spool.hpp"

namespace runner {

// The items that wait for one tracker, between the training thread and the thread of the tracker. They wait
// in memory. If that is full, further items wait on disk; without a spool, put() waits for room instead.
class ItemQueue {
 public:
  using Seconds = std::chrono::duration<double>;

  explicit ItemQueue(std::size_t in_memory, std::unique_ptr<Spool> spool = nullptr);

  // For the training thread.
  // Throws after fail() was called, and if the disk is full. Returns whether it had to wait for room.
  bool put(SharedItem item);
  void move_to_disk();                      // everything that is only in memory, if there is a spool
  void close(SharedItem last = nullptr);    // no more items, except `last`, which stays in memory
  bool wait_until_empty(Seconds patience);  // false: it took longer

  // For the tracker's thread.
  // Waits for items, then up to `for_more` for more of them, and returns the oldest ones. Returns none once
  // the queue is closed and empty.
  std::vector<SharedItem> take(Seconds for_more);
  void done();                          // the items taken last have been processed
  void pause(Seconds time);             // ends early if close() is called
  bool closed_for(Seconds time) const;  // at least that long ago
  void fail(std::string reason);        // the queue is no longer read

  std::size_t size() const;  // including items that were taken and are not done

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
  std::condition_variable drained_;  // for the training thread
  // Waiting items are either in memory or in the spool, unless writing to the spool has failed.
  std::vector<SharedItem> memory_;
  std::vector<SharedItem> taken_;  // from memory, and not on disk
  bool from_spool_ = false;        // the items taken last are at the front of the spool
  SharedItem last_;
  bool hurry_ = false;  // wait_until_empty() is waiting
  std::optional<Clock::time_point> closed_;
  std::optional<std::string> failure_;
};

}  // namespace runner
