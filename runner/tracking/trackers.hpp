#pragma once

#include <memory>
#include <string>
#include <vector>

#include "components/support/io/file_lock.hpp"
#include "runner/tracking/tracker_worker.hpp"

namespace runner {

// All trackers of a run. Each has a queue and a thread of its own, so that no file and no network holds up
// training or another tracker. All functions are for one thread, the one that trains.
//
// Nothing is written before start(), so that a checkpoint can be restored before any file of the run changes.
class Trackers final : public Stateful {
 public:
  Trackers(std::vector<NamedTracker> trackers, RunFacts facts, const TrackerPatience& patience = {});
  ~Trackers() override;  // like finish(Outcome::failed) if finish() was not called; never throws
  Trackers(const Trackers&) = delete;
  Trackers& operator=(const Trackers&) = delete;

  // What the run is called elsewhere, from the checkpoint that it is resumed from; before start().
  void load(const State& saved) override { saved_ = saved; }
  // The same for a checkpoint; flush() comes first, so that what was logged before a checkpoint is on disk
  // when the checkpoint is.
  State save() const override;

  // Starts the trackers; a resumed run drops what an earlier attempt logged after that step, and at 0
  // everything. Essential trackers start at once, so that an unwritable folder is found before training;
  // throws what they throw. The others start in the background.
  void start(std::optional<std::int64_t> resumed_at = {});

  // These throw std::runtime_error once an essential tracker has failed.
  void log(Record record);
  void text(std::string tag, std::string text, std::int64_t step);
  void image(std::string tag, Picture image, std::int64_t step);
  void histogram(std::string tag, Histogram histogram, std::int64_t step);
  void artifact(std::string name, std::filesystem::path file);

  bool shows_images() const { return shows_images_; }

  // Waits until whatever was logged so far is in the files it belongs to, or at least on disk on its way
  // there: before a checkpoint that a run may be resumed from. Waits for essential trackers however long they
  // take, and throws once one of them has failed; for the others only briefly.
  void flush() const;

  // Writes out all that waits, finishes every tracker and ends the threads; remote ones get a few seconds,
  // and what they could not send is kept. Throws if an essential tracker failed and no call has thrown yet. A
  // second call does nothing.
  void finish(Outcome outcome, std::string message = {});

  const std::string& run_id() const { return facts_.id; }  // known once started

 private:
  void put(Item item);

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

// Where trackers keep what must survive the process.
std::filesystem::path tracking_folder(const std::filesystem::path& run);

}  // namespace runner
