#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "components/trackers/tracker.hpp"

namespace runner {

struct NamedTracker {
  std::string name;
  std::unique_ptr<Tracker> tracker;
  bool essential = false;  // where it fails the run has to stop; any other is switched off with a warning
};

// Hands measurements to the trackers on one background thread, so that files and networks never hold up
// training.
//
// Nothing is dropped: should the queue ever fill up because a tracker is slower than training for long, log()
// waits, and says so once. All functions are for one thread, the one that trains.
class TrackerThread {
 public:
  // Starts the essential trackers at once, so that an unwritable folder is found before training; throws what
  // they throw. The others start in the background.
  TrackerThread(std::vector<NamedTracker> trackers, RunFacts facts, std::size_t capacity = 4096);
  ~TrackerThread();  // as finish(Outcome::failed), where nobody called finish; never throws
  TrackerThread(const TrackerThread&) = delete;
  TrackerThread& operator=(const TrackerThread&) = delete;

  // These throw std::runtime_error once an essential tracker has failed.
  void log(Record record);
  void text(std::string tag, std::string text, std::int64_t step);
  void histogram(std::string tag, Histogram histogram, std::int64_t step);

  // Writes out all that waits, finishes every tracker still on and ends the thread. Throws where an essential
  // tracker failed and nobody was told yet. A second call does nothing.
  void finish(Outcome outcome);

 private:
  struct Text {
    std::string tag;
    std::string text;
    std::int64_t step;
  };
  struct Distribution {
    std::string tag;
    Histogram histogram;
    std::int64_t step;
  };
  using Item = std::variant<Record, Text, Distribution>;

  void put(Item item);
  void work(const RunFacts& facts);
  std::deque<Item> take();  // waits for something; nothing once finishing
  void deliver(const Item& item);
  template <class Call>
  void each_tracker(Call call);
  void give_up(NamedTracker& tracker, const char* reason);

  std::vector<NamedTracker>
      trackers_;  // the background thread's own once it runs; a null tracker is switched off
  const std::size_t capacity_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::optional<Outcome> outcome_;  // set: no more will come
  std::optional<std::string> failure_;
  bool told_failure_ = false;  // the training thread's own, as the next one
  bool told_waiting_ = false;

  std::thread thread_;
};

}  // namespace runner
