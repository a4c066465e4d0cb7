#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runner/tracking/item_queue.hpp"
#include "runner/tracking/tracker_state.hpp"

namespace runner {

struct NamedTracker {
  std::string name;  // different for each tracker of a run: "csv", "csv-2"
  std::unique_ptr<Tracker> tracker;
  bool essential = false;  // where it fails the run has to stop; any other is switched off with a warning
  TrackerFacts facts = {};
};

// How long a tracker may take.
struct TrackerPatience {
  double between_sends = 1;  // seconds in which a remote tracker gathers what it sends together
  double between_writes =
      0.1;                 // the same of a tracker that writes files, so that it seldom disturbs training
  double first_retry = 1;  // seconds; each further one twice as long, up to the longest
  double longest_retry = 10;
  double at_the_end = 10;        // for a remote tracker to send what is left
  double outage_at_the_end = 5;  // the same while its server does not answer
  double silent_end = 1;         // seconds after which it is said what is waited for
  // Seconds before a checkpoint for what waits to be written: after which it is said that an essential
  // tracker is slow; and for all others together, of which the rest waits on disk.
  double essential_flush = 10, other_flush = 1;
  std::size_t in_memory = 4096;
};

// One tracker on a thread of its own, with its queue. What a remote tracker is given is on disk first, so
// that a server that does not answer loses nothing; other trackers use the disk where they fall behind.
class TrackerWorker {
 public:
  // The folder holds what survives the process: the spool and the tracker's state. An essential tracker
  // starts at once and throws what it throws; any other in the background.
  TrackerWorker(NamedTracker tracker, const RunFacts& facts, const std::filesystem::path& folder,
                const State& saved, const TrackerPatience& patience = {});
  ~TrackerWorker();
  TrackerWorker(const TrackerWorker&) = delete;
  TrackerWorker& operator=(const TrackerWorker&) = delete;

  // For the thread that trains; put() and flush() throw once an essential tracker has failed.
  void put(const SharedItem& item);
  // Waits until all is written, or else at least on disk; false: an essential tracker took longer.
  bool flush(double seconds);
  void close(SharedItem end = nullptr) { queue_.close(std::move(end)); }
  bool end(const SharedItem& item);  // the last one, and close(); false: an essential tracker has failed
  bool ends_within(double seconds);  // after close()
  std::string join();                // once it has ended; why an essential tracker failed

  const std::string& name() const { return name_; }
  bool essential() const { return essential_; }
  bool remote() const { return facts_.remote; }
  State state() const;  // from any thread
  std::size_t waiting() const { return queue_.size(); }

 private:
  struct LeftForLater : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  void work();
  void send_all();
  RunEnd end_of_killed_run() const;
  template <class Call>
  void attempt(Call call);
  void note_away(const char* reason);
  void keep_state();
  void give_up(const std::string& reason);
  void switch_off(const std::exception& reason);

  const std::string name_;
  const bool essential_;
  const TrackerFacts facts_;
  const TrackerPatience patience_;
  const RunFacts run_;
  std::unique_ptr<Tracker> tracker_;  // the thread's own once it runs
  TrackerStateFile file_;
  ItemQueue queue_;
  bool started_ = false, ended_ = false;
  double last_record_ = 0;                      // its wall time
  bool told_waiting_ = false, behind_ = false;  // of the thread that trains
  bool away_ = false, told_away_ = false;
  std::atomic<bool> off_ = false;
  mutable std::mutex mutex_;
  State state_;
  std::string failure_;
  std::promise<void> over_;
  std::future<void> when_over_ = over_.get_future();
  std::thread thread_;
};

}  // namespace runner
