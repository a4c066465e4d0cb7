// Trackers that note what they are told, and what the tests of trackers share.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "registry/base/log.hpp"
#include "runner/runs/tracking/trackers.hpp"
#include "tests/support/quiet.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner::testing::trackers {

// What a tracker was told, readable by the test thread once the tracker thread has finished.
struct Seen {
  std::vector<std::int64_t> steps;
  std::vector<std::string> texts;
  std::string order;
  double end = 0;
  std::thread::id thread;
};

struct Recorder : Tracker {
  explicit Recorder(Seen& seen_) : seen(seen_) {}
  void start(const RunFacts& facts) override { seen.order += "start " + facts.name; }
  void log(const Record& record) override {
    seen.steps.push_back(record.step);
    seen.thread = std::this_thread::get_id();
  }
  void text(std::string_view tag, std::string_view text, std::int64_t) override {
    seen.texts.push_back(std::string(tag) + "=" + std::string(text));
  }
  void finish(const RunEnd& end) override {
    seen.order += ", ";
    seen.order += name_of(end.outcome);
    if (!end.message.empty()) seen.order += ": " + end.message;
    seen.end = end.wall_time;
  }
  Seen& seen;
};

// Holds the background thread until it is let go.
struct Gate : Recorder {
  using Recorder::Recorder;
  void log(const Record& record) override {
    std::unique_lock lock(mutex);
    arrived = true;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
    Recorder::log(record);
  }
  void wait_until_held() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return arrived; });
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool arrived = false;
  bool open = false;
};

inline std::vector<NamedTracker> list(const char* name, std::unique_ptr<Tracker> tracker,
                                      bool essential = false, TrackerFacts facts = {}) {
  std::vector<NamedTracker> trackers;
  trackers.push_back({name, std::move(tracker), essential, facts});
  return trackers;
}

// Trackers in a run folder of their own.
struct Case {
  explicit Case(std::string name = "x") : facts{std::move(name), folder.path(), {}, {}} {}
  TemporaryFolder folder;
  RunFacts facts;
};

inline const TrackerFacts remote{.remote = true};
inline const TrackerPatience hasty{.between_sends = 0,
                                   .between_writes = 0,
                                   .first_retry = 0.001,
                                   .longest_retry = 0.001,
                                   .at_the_end = 60,
                                   .outage_at_the_end = 0.05,
                                   .in_memory = 4};

using testing::Quiet;

inline Record at(std::int64_t step) { return {step, 0, 0, {{"train/loss", 1.0}}}; }

}  // namespace runner::testing::trackers
