#include "runner/runs/tracking/item_queue.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace runner {

namespace {

constexpr std::size_t most_at_once = 1000;

}  // namespace

ItemQueue::ItemQueue(std::size_t in_memory, std::unique_ptr<Spool> spool)
    : in_memory_(in_memory), spool_(std::move(spool)) {}

bool ItemQueue::put(SharedItem item) {
  std::unique_lock lock(mutex_);
  if (closed_) throw std::logic_error("Something was logged after the trackers had finished.");
  const auto room = [&] { return memory_.size() < in_memory_; };
  bool waited = false;
  if (spool_ && (spool_->size() > 0 || !room())) {
    move_to_disk_now();
    spool_->append({&item, 1});
  } else {
    waited = !room() && !failure_;
    drained_.wait(lock, [&] { return room() || failure_; });
    if (failure_) throw std::runtime_error(*failure_);
    memory_.push_back(std::move(item));
  }
  // Otherwise the tracker's thread is awake, or waits for more items.
  const std::size_t size = size_now() - taken_.size();
  lock.unlock();
  if (size == 1 || size >= most_at_once) changed_.notify_one();
  return waited;
}

void ItemQueue::move_to_disk() {
  const std::lock_guard lock(mutex_);
  move_to_disk_now();
}

// Includes the items that the tracker is working on: it may never finish them.
void ItemQueue::move_to_disk_now() {
  if (!spool_) return;
  if (!taken_.empty()) {
    spool_->append_to_front(taken_);
    taken_.clear();
    from_spool_ = true;
  }
  if (!memory_.empty()) spool_->append(memory_);
  memory_.clear();
}

void ItemQueue::close(SharedItem last) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      closed_ = Clock::now();
      last_ = std::move(last);
    }
  }
  changed_.notify_one();
}

bool ItemQueue::wait_until_empty(Seconds patience) {
  std::unique_lock lock(mutex_);
  hurry_ = true;
  changed_.notify_one();
  const bool empty = drained_.wait_for(lock, patience, [&] { return size_now() == 0 || failure_; });
  hurry_ = false;
  if (failure_) throw std::runtime_error(*failure_);
  return empty;
}

std::vector<SharedItem> ItemQueue::take(Seconds for_more) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return size_now() > 0 || closed_; });
  if (for_more.count() > 0)
    changed_.wait_for(lock, for_more, [&] { return size_now() >= most_at_once || closed_ || hurry_; });
  from_spool_ = spool_ && spool_->size() > 0;
  if (from_spool_) {
    const std::size_t count = std::min(most_at_once, spool_->size());
    lock.unlock();  // so that put() does not wait while the disk is read
    return spool_->front(count);
  }
  taken_ = std::exchange(memory_, {});
  if (taken_.empty() && last_) taken_.push_back(std::exchange(last_, nullptr));
  std::vector<SharedItem> taken = taken_;
  lock.unlock();
  drained_.notify_all();
  return taken;
}

void ItemQueue::done() {
  {
    const std::lock_guard lock(mutex_);
    if (from_spool_) spool_->remove_front();
    taken_.clear();
  }
  drained_.notify_all();
}

void ItemQueue::pause(Seconds time) {
  std::unique_lock lock(mutex_);
  const bool was_closed = closed_.has_value();
  changed_.wait_for(lock, time, [&] { return closed_.has_value() != was_closed; });
}

bool ItemQueue::closed_for(Seconds time) const {
  const std::lock_guard lock(mutex_);
  return closed_ && Clock::now() - *closed_ >= time;
}

void ItemQueue::fail(std::string reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(reason);
  }
  drained_.notify_all();
}

std::size_t ItemQueue::size() const {
  const std::lock_guard lock(mutex_);
  return size_now();
}

}  // namespace runner
