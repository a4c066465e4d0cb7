#pragma once

#include <memory>
#include <string>
#include <vector>

#include "components/support/io/file_lock.hpp"
#include "runner/tracking/tracker_worker.hpp"

namespace runner {

// All trackers of a run. Each has a queue and a thread of its own, so that no file and no network holds up
// training or another tracker. All functions are for one thread, the one that trains; save() for any.
class Trackers {
 public:
  // Starts the essential trackers at once, so that an unwritable folder is found before training; throws what
  // they throw. `saved` is what save() gave to the checkpoint that a run is resumed from.
  Trackers(std::vector<NamedTracker> trackers, RunFacts facts, const State& saved = {},
           const TrackerPatience& patience = {});
  ~Trackers();  // as finish(Outcome::failed), where nobody called finish; never throws
  Trackers(const Trackers&) = delete;
  Trackers& operator=(const Trackers&) = delete;

  // These throw std::runtime_error once an essential tracker has failed.
  void log(Record record);
  void text(std::string tag, std::string text, std::int64_t step);
  void image(std::string tag, Picture image, std::int64_t step);
  void histogram(std::string tag, Histogram histogram, std::int64_t step);
  void artifact(std::string name, std::filesystem::path file);

  bool shows_images() const;

  // Waits until whatever was logged so far is in the files it belongs to, or on disk on its way to a server:
  // before a checkpoint that a run may be resumed from. A tracker that takes too long is not waited for.
  void flush(double seconds = 10);

  // What the run is called elsewhere, for a checkpoint.
  State save() const;

  // Writes out all that waits, finishes every tracker and ends the threads; remote ones get a few seconds,
  // and what they could not send is kept. Throws where an essential tracker failed and nobody was told yet. A
  // second call does nothing.
  void finish(Outcome outcome, std::string message = {});

  const std::string& run_id() const { return facts_.id; }

 private:
  void put(Item item);

  RunFacts facts_;
  std::unique_ptr<FileLock> lock_;
  std::vector<std::unique_ptr<TrackerWorker>> workers_;
  bool finished_ = false;
  bool told_failure_ = false;
};

// Where trackers keep what must survive the process.
std::filesystem::path tracking_folder(const std::filesystem::path& run);

}  // namespace runner
