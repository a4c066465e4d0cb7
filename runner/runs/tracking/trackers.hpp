#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "registry/files/file_lock.hpp"
#include "runner/runs/tracking/tracker_worker.hpp"

namespace runner {

// All trackers of a run. Each has its own queue and thread, so that a slow disk or network does not delay
// training or another tracker. All functions are for the training thread only.
//
// Nothing is written before start(), so that a checkpoint can be restored before any file of the run changes.
class Trackers final : public Stateful {
 public:
  Trackers(std::vector<NamedTracker> trackers, RunFacts facts, const TrackerPatience& patience = {});
  ~Trackers() override;  // like finish(Outcome::failed) if finish() was not called; never throws
  Trackers(const Trackers&) = delete;
  Trackers& operator=(const Trackers&) = delete;

  // The id of the run, and the states and places of the trackers, from a checkpoint; call it before start().
  void load(const State& saved) override { saved_ = saved; }
  // The same, to be saved in a checkpoint. Calls flush() first, so that everything logged before a checkpoint
  // is on disk before it.
  State save() const override;

  // Starts the trackers. A resumed run drops what an earlier attempt logged after that step, or in that step
  // after that exact epoch or the place of the tracker; if the step is -1, everything. Essential trackers
  // start immediately, so that an unwritable folder is found before training, and their exceptions are passed
  // on. The others start in the background. If another process is sending their data, they are switched off
  // with a warning, because the run must not fail for them.
  void start(std::optional<std::int64_t> resumed_at = {},
             double resumed_epoch = std::numeric_limits<double>::infinity());

  // These throw std::runtime_error after an essential tracker has failed, and std::invalid_argument for a
  // name that every record uses already: "step", "epoch" or "time".
  void log(Record record);
  void text(std::string tag, std::string text, std::int64_t step);
  void image(std::string tag, Picture image, std::int64_t step);
  void histogram(std::string tag, Histogram histogram, std::int64_t step);
  void artifact(std::string name, std::filesystem::path file);

  // Any of these, also for one tracker alone.
  void put(Item item, const std::string& only = "");
  std::vector<std::string> names() const;  // of the trackers that have started

  bool shows_images() const { return shows_images_; }

  // Waits until everything logged so far is on disk, in the files of the trackers or in their spools: called
  // before a checkpoint. Waits for essential trackers as long as they take, and throws if one of them has
  // failed; for the others only briefly.
  void flush() const;

  // Writes everything that waits, finishes every tracker and ends the threads. Remote trackers get a few
  // seconds; what they could not send is kept. Throws if an essential tracker failed and no call has thrown
  // yet. A second call does nothing.
  void finish(Outcome outcome, std::string message = {});

  const std::string& run_id() const { return facts_.id; }  // empty before start()

 private:
  bool lock_other_trackers();  // than the essential ones; false: another process has locked them

  std::vector<NamedTracker> trackers_;  // until they start
  RunFacts facts_;
  const TrackerPatience patience_;
  const bool shows_images_;
  State saved_;
  std::unique_ptr<FileLock> lock_;
  std::vector<std::unique_ptr<TrackerWorker>> workers_;
  bool started_ = false, finished_ = false;
  bool told_failure_ = false;
};

// Where trackers save what must survive the process.
std::filesystem::path tracking_folder(const std::filesystem::path& run);

}  // namespace runner
