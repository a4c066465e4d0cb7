#include "runner/runs/tracking/tracker_worker.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "components/trackers/wall_clock.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "runner/runs/tracking/rank_folders.hpp"

namespace runner {

namespace {

std::unique_ptr<Spool> open_spool(const NamedTracker& tracker, const RunFacts& facts,
                                  const std::filesystem::path& folder) {
  if (tracker.essential) return nullptr;
  auto spool = std::make_unique<Spool>(folder / (tracker.name + ".spool"));
  if (facts.resumed_at) spool->cut(facts);
  return spool;
}

// When the run last logged something, in seconds since 1970; now, if that is unknown.
double last_sign_of_life(const RunFacts& run) {
  std::error_code missing;
  const auto written = std::filesystem::last_write_time(run.folder / "metrics.jsonl", missing);
  if (missing) return wall_clock();
  const auto time = std::chrono::file_clock::to_sys(written).time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

std::size_t memory_for(const NamedTracker& tracker, const TrackerPatience& patience) {
  return tracker.facts.remote ? 0 : patience.in_memory;
}

}  // namespace

TrackerWorker::TrackerWorker(NamedTracker tracker, const RunFacts& facts, const std::filesystem::path& folder,
                             const State& saved, const TrackerPatience& patience, FindMissing missing)
    : name_(tracker.name),
      essential_(tracker.essential),
      facts_(tracker.facts),
      patience_(patience),
      run_(facts),
      tracker_(std::move(tracker.tracker)),
      file_(folder / (name_ + ".json")),
      queue_(memory_for(tracker, patience), open_spool(tracker, facts, folder)),
      find_missing_(std::move(missing)) {
  if (essential_) {
    tracker_->start(run_);
    keep_place();
    started_ = true;
  } else {
    state_ = file_.exists() ? file_.read() : saved;
  }
  thread_ = std::thread([this] {
    work();
    over_.set_value();
  });
}

TrackerWorker::~TrackerWorker() {
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

void TrackerWorker::put(const SharedItem& item) {
  if (off_ && !essential_) return;
  try {
    const bool waited = queue_.put(item);
    if (waited && !std::exchange(told_waiting_, true))
      log::warning("Training had to wait for {}: the disk is slower than training. Log less often.", name_);
  } catch (const std::exception& error) {
    if (essential_) throw;
    switch_off(error);
  }
}

void TrackerWorker::switch_off(const std::exception& reason) {
  off_ = true;
  log::warning("Tracker \"{}\" is switched off: its backlog cannot be written to disk: {}", name_,
               reason.what());
}

bool TrackerWorker::end(const SharedItem& item) {
  try {
    put(item);
  } catch (const std::exception&) {
    queue_.close();
    return false;
  }
  queue_.close(off_ && !essential_ ? item : nullptr);  // in memory if the disk is full
  const std::lock_guard lock(mutex_);
  if (tracker_) tracker_->hurry(patience_.at_the_end);
  return true;
}

bool TrackerWorker::flush(double seconds) {
  all_written_ = false;
  if (facts_.remote || (off_ && !essential_)) return true;  // on disk already
  // A tracker that hangs delays one checkpoint, not every one.
  all_written_ = queue_.wait_until_empty(ItemQueue::Seconds(behind_ ? 0 : seconds));
  if (all_written_ || essential_) return behind_ = false, all_written_;
  behind_ = true;
  try {
    queue_.move_to_disk();
  } catch (const std::exception& error) {
    switch_off(error);
  }
  return true;
}

bool TrackerWorker::ends_within(double seconds) {
  return when_over_.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
}

std::string TrackerWorker::join() {
  if (thread_.joinable()) thread_.join();
  return failure_;
}

std::string TrackerWorker::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

State TrackerWorker::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

State TrackerWorker::place() const {
  if (!all_written_) return {};
  const std::lock_guard lock(mutex_);
  return place_;
}

void TrackerWorker::work() {
  try {
    send_all();
  } catch (const LeftForLater& reason) {  // later items wait on disk as well
    log::warning(
        "Tracker \"{}\": {} Unsent data is kept in the run folder; send it later with: runner track {}",
        name_, reason.what(), run_of(run_.folder).string());
  } catch (const std::exception& error) {
    give_up(error.what());
  } catch (...) {
    give_up("unknown error");
  }
}

void TrackerWorker::send_all() {
  if (!started_) {
    if (!state_.empty()) tracker_->load(state_);
    attempt([&] { tracker_->start(run_); });
    keep_place();
    keep_state();
  }
  const ItemQueue::Seconds for_more(essential_      ? 0
                                    : facts_.remote ? patience_.between_sends
                                                    : patience_.between_writes);
  for (auto items = queue_.take(for_more); !items.empty(); items = queue_.take(for_more)) {
    for (const SharedItem& item : items) {
      if (ended_) break;  // nothing is delivered after the end of the run
      // A separate attempt, so that the end of a run need not wait for both.
      if (std::holds_alternative<RunEnd>(*item)) {
        attempt([&] { tracker_->flush(); });
        refill();
      }
      attempt([&] { deliver(*item, *tracker_, run_of(run_.folder)); });
      if (const auto* record = std::get_if<Record>(item.get())) last_record_ = record->wall_time;
      ended_ = ended_ || std::holds_alternative<RunEnd>(*item);
    }
    attempt([&] { tracker_->flush(); });
    keep_place();
    keep_state();
    queue_.done();
  }
  if (!ended_) {
    refill();
    attempt([&] { tracker_->finish(end_of_killed_run()); });
  }
  ended_ = true;
  keep_state();
}

// Before the end of the run is told: nothing can be logged after that.
void TrackerWorker::refill() {
  if (!find_missing_) return;
  std::vector<Record> missing;
  attempt([&] { missing = find_missing_(*tracker_); });
  for (const Record& record : missing) {
    attempt([&] { tracker_->log(record); });
    refilled_ += record.values.size();
  }
  if (missing.empty()) return;
  attempt([&] { tracker_->flush(); });
  attempt([&] { missing = find_missing_(*tracker_); });
  for (const Record& record : missing) still_missing_ += record.values.size();
}

// Its end time is that of the last record, which may be long ago.
RunEnd TrackerWorker::end_of_killed_run() const {
  return {Outcome::failed, "The process was killed before the run ended.",
          last_record_ > 0 ? last_record_ : last_sign_of_life(run_)};
}

// An error of a remote tracker loses nothing: its items are kept on disk.
template <class Call>
void TrackerWorker::attempt(Call call) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto enough = [&] {
    return queue_.closed_for(ItemQueue::Seconds(patience_.at_the_end)) ||
           (queue_.closed_for(ItemQueue::Seconds(0)) &&
            Clock::now() - began > std::chrono::duration<double>(patience_.outage_at_the_end));
  };
  for (double wait = patience_.first_retry;; wait = std::min(2 * wait, patience_.longest_retry)) {
    if (facts_.remote && queue_.closed_for(ItemQueue::Seconds(patience_.at_the_end)))
      throw LeftForLater("It takes too long to send the rest.");
    try {
      call();
      if (std::exchange(away_, false)) {
        log::info("Tracker \"{}\" is back.", name_);
        const std::lock_guard lock(mutex_);
        trouble_.clear();
      }
      return;
    } catch (const TrackerUnavailable& error) {
      if (!facts_.remote) throw;
      if (enough()) throw LeftForLater(error.what());
      note_away(error.what());
      queue_.pause(ItemQueue::Seconds(wait));
    } catch (const std::exception& error) {
      if (!facts_.remote) throw;
      throw LeftForLater(error.what());
    }
  }
}

void TrackerWorker::note_away(const char* reason) {
  {
    const std::lock_guard lock(mutex_);
    trouble_ = reason;
  }
  if (std::exchange(away_, true)) return;
  if (std::exchange(told_away_, true)) return log::info("Tracker \"{}\": {}", name_, reason);
  log::warning("Tracker \"{}\": {} Training continues; metrics wait on disk and are sent when it is back.",
               name_, reason);
}

void TrackerWorker::keep_state() {
  if (essential_) return;
  State state = tracker_->save();
  file_.write(state, ended_);
  const std::lock_guard lock(mutex_);
  state_ = std::move(state);
}

void TrackerWorker::keep_place() {
  State place = tracker_->place();
  const std::lock_guard lock(mutex_);
  place_ = std::move(place);
}

void TrackerWorker::give_up(const std::string& reason) {
  const std::string what = "Tracker " + in_quotes(name_) + " failed: " + reason;
  {
    const std::lock_guard lock(mutex_);
    tracker_.reset();
  }
  off_ = true;
  if (!essential_) {
    log::warning("{} It is switched off; the run continues without it.", what);
    return;
  }
  failure_ = what;
  queue_.fail(what);
}

}  // namespace runner
