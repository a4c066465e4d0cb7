#include "runner/tracking/item_queue.hpp"

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
    spool_->append(*item);
  } else {
    waited = !room() && !failure_;
    drained_.wait(lock, [&] { return room() || failure_; });
    if (failure_) throw std::runtime_error(*failure_);
    memory_.push_back(std::move(item));
  }
  // Further ones find the tracker's thread awake, or waiting for more.
  const std::size_t size = size_now() - taken_;
  lock.unlock();
  if (size == 1 || size >= most_at_once) changed_.notify_one();
  return waited;
}

void ItemQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) closed_ = Clock::now();
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
  from_spool_ = memory_.empty();
  if (from_spool_) return spool_ ? spool_->front(most_at_once) : std::vector<SharedItem>{};
  std::vector<SharedItem> taken(std::move_iterator(memory_.begin()), std::move_iterator(memory_.end()));
  memory_.clear();
  taken_ = taken.size();
  lock.unlock();
  drained_.notify_all();
  return taken;
}

void ItemQueue::done() {
  {
    const std::lock_guard lock(mutex_);
    if (from_spool_ && spool_) spool_->remove_front();
    taken_ = 0;
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
