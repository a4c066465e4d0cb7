#include "runner/tracking/tracker_thread.hpp"

#include <exception>
#include <stdexcept>
#include <utility>

#include "registry/log.hpp"

namespace runner {

TrackerThread::TrackerThread(std::vector<NamedTracker> trackers, RunFacts facts, std::size_t capacity)
    : trackers_(std::move(trackers)), capacity_(capacity) {
  for (NamedTracker& each : trackers_) {
    if (each.essential) each.tracker->start(facts);
  }
  thread_ = std::thread([this, facts = std::move(facts)] { work(facts); });
}

TrackerThread::~TrackerThread() {
  try {
    finish(Outcome::failed);
  } catch (const std::exception& error) {
    log::error("{}", error.what());
  }
}

void TrackerThread::log(Record record) { put(std::move(record)); }

void TrackerThread::text(std::string tag, std::string text, std::int64_t step) {
  put(Text{std::move(tag), std::move(text), step});
}

void TrackerThread::histogram(std::string tag, Histogram histogram, std::int64_t step) {
  put(Distribution{std::move(tag), std::move(histogram), step});
}

void TrackerThread::put(Item item) {
  {
    std::unique_lock lock(mutex_);
    if (outcome_) throw std::logic_error("Something was logged after the trackers had finished.");
    if (queue_.size() >= capacity_ && !failure_ && !std::exchange(told_waiting_, true)) {
      lock.unlock();
      log::warning("Training waits for its trackers: {} measurements are not written yet. Log less often.",
                   capacity_);
      lock.lock();
    }
    changed_.wait(lock, [&] { return queue_.size() < capacity_ || failure_; });
    if (failure_) {
      told_failure_ = true;
      throw std::runtime_error(*failure_);
    }
    queue_.push_back(std::move(item));
  }
  changed_.notify_all();
}

void TrackerThread::finish(Outcome outcome) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    outcome_ = outcome;
  }
  changed_.notify_all();
  thread_.join();
  if (failure_ && !std::exchange(told_failure_, true)) throw std::runtime_error(*failure_);
}

void TrackerThread::work(const RunFacts& facts) {
  each_tracker([&](NamedTracker& each) {
    if (!each.essential) each.tracker->start(facts);
  });
  for (std::deque<Item> items = take(); !items.empty(); items = take()) {
    for (const Item& item : items) deliver(item);
    each_tracker([](NamedTracker& each) { each.tracker->flush(); });
  }
  const Outcome outcome = failure_ ? Outcome::failed : *outcome_;
  each_tracker([&](NamedTracker& each) { each.tracker->finish(outcome); });
}

std::deque<TrackerThread::Item> TrackerThread::take() {
  std::deque<Item> taken;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !queue_.empty() || outcome_; });
    taken.swap(queue_);
  }
  changed_.notify_all();  // there is room again
  return taken;
}

void TrackerThread::deliver(const Item& item) {
  each_tracker([&](NamedTracker& each) {
    if (const auto* record = std::get_if<Record>(&item)) {
      each.tracker->log(*record);
    } else if (const auto* text = std::get_if<Text>(&item)) {
      each.tracker->text(text->tag, text->text, text->step);
    } else {
      const auto& [tag, histogram, step] = std::get<Distribution>(item);
      each.tracker->histogram(tag, histogram, step);
    }
  });
}

template <class Call>
void TrackerThread::each_tracker(Call call) {
  for (NamedTracker& each : trackers_) {
    if (!each.tracker) continue;
    try {
      call(each);
    } catch (const std::exception& error) {
      give_up(each, error.what());
    } catch (...) {
      give_up(each, "unknown error");
    }
  }
}

void TrackerThread::give_up(NamedTracker& tracker, const char* reason) {
  const std::string what = "Tracker \"" + tracker.name + "\" failed: " + reason;
  tracker.tracker.reset();
  if (!tracker.essential) {
    log::warning("{} It is switched off; the run goes on without it.", what);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = what;
  }
  changed_.notify_all();  // whoever waits for room waits in vain
}

}  // namespace runner
