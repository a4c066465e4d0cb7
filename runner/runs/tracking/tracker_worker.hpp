#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runner/runs/tracking/item_queue.hpp"
#include "runner/runs/tracking/tracker_state.hpp"

namespace runner {

struct NamedTracker {
  std::string name;  // different for each tracker of a run: "csv", "csv-2"
  std::unique_ptr<Tracker> tracker;
  bool essential = false;  // if it fails, the run stops; any other is switched off with a warning
  TrackerFacts facts = {};
};

// How long to wait for a tracker, in seconds.
struct TrackerPatience {
  double between_sends = 1;     // how long items for a remote tracker are collected, to be sent together
  double between_writes = 0.1;  // the same for a tracker that writes files, to disturb training less often
  double first_retry = 1;       // each further wait is twice as long, up to the longest
  double longest_retry = 10;
  double at_the_end = 10;        // for a remote tracker to send the rest
  double outage_at_the_end = 5;  // the same while its server does not answer
  double silent_end = 1;         // after that, a message says which tracker the run waits for
  // Before a checkpoint, for waiting items to be written. An essential tracker that takes longer causes a
  // message; the items that all others together have not written by then are moved to disk.
  double essential_flush = 10, other_flush = 1;
  double other_process = 10;  // at the start: for another process that sends what an earlier attempt left
  std::size_t in_memory = 4096;
};

// The records that a tracker lacks, with the values that it lacks of them.
using FindMissing = std::function<std::vector<Record>(Tracker&)>;

// One tracker with its own thread and queue. Items for a remote tracker are written to disk first, so that
// nothing is lost if its server does not answer; other trackers use the disk only if they fall behind.
class TrackerWorker {
 public:
  // The spool and the tracker's state are saved in the folder. An essential tracker is started by the
  // constructor, which passes on its exceptions; any other is started in the background.
  TrackerWorker(NamedTracker tracker, const RunFacts& facts, const std::filesystem::path& folder,
                const State& saved, const TrackerPatience& patience = {}, FindMissing missing = {});
  ~TrackerWorker();
  TrackerWorker(const TrackerWorker&) = delete;
  TrackerWorker& operator=(const TrackerWorker&) = delete;

  // For the training thread. put() and flush() throw after an essential tracker has failed.
  void put(const SharedItem& item);
  // Waits until everything is written, or else moves it to disk; false: an essential tracker took longer.
  bool flush(double seconds);
  void close(SharedItem end = nullptr) { queue_.close(std::move(end)); }
  bool end(const SharedItem& item);  // the last item, then close(); false: an essential tracker has failed
  bool ends_within(double seconds);  // after close()
  std::string join();                // after close(); returns why an essential tracker failed

  const std::string& name() const { return name_; }
  bool essential() const { return essential_; }
  bool remote() const { return facts_.remote; }
  State state() const;  // from any thread
  // The tracker's place() after the last flush(); empty if that could not wait until everything was written.
  State place() const;
  std::string trouble() const;  // why the last attempt to send something failed, from any thread
  // After join(): how many points were logged again because they were missing, and how many are missing
  // still.
  std::size_t refilled() const { return refilled_; }
  std::size_t missing() const { return still_missing_; }
  std::size_t waiting() const { return queue_.size(); }

 private:
  struct LeftForLater : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  void work();
  void send_all();
  void refill();
  RunEnd end_of_killed_run() const;
  template <class Call>
  void attempt(Call call);
  void note_away(const char* reason);
  void keep_state();
  void keep_place();
  void give_up(const std::string& reason);
  void switch_off(const std::exception& reason);

  const std::string name_;
  const bool essential_;
  const TrackerFacts facts_;
  const TrackerPatience patience_;
  const RunFacts run_;
  std::unique_ptr<Tracker> tracker_;  // used only by the thread once that runs
  TrackerStateFile file_;
  ItemQueue queue_;
  const FindMissing find_missing_;
  std::size_t refilled_ = 0, still_missing_ = 0;
  bool started_ = false, ended_ = false;
  double last_record_ = 0;  // wall time of the last record
  // Used by the training thread.
  bool told_waiting_ = false, behind_ = false;
  bool all_written_ = false;  // when flush() was called last
  bool away_ = false, told_away_ = false;
  std::atomic<bool> off_ = false;
  mutable std::mutex mutex_;
  State state_, place_;
  std::string failure_, trouble_;
  std::promise<void> over_;
  std::future<void> when_over_ = over_.get_future();
  std::thread thread_;
};

}  // namespace runner
