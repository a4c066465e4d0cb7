#include "runner/runs/tracking/trackers.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#include "components/trackers/append_file.hpp"
#include "components/trackers/path_below.hpp"
#include "components/trackers/wall_clock.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "runner/runs/tracking/rank_folders.hpp"
#include "runner/runs/tracking/run_facts.hpp"

namespace runner {

namespace {

constexpr const char* places = "/places";  // no tracker has this name

void check_name(const std::string& name) {
  for (const char* const taken : {"step", "epoch", "time"}) {
    if (name == taken)
      throw std::invalid_argument("Nothing can be logged as " + in_quotes(name) +
                                  ": every record has its step, epoch and time already. Use another name, "
                                  "such as " +
                                  in_quotes("train/" + name) + ".");
  }
}

void check_names(const Item& item) {
  if (const auto* record = std::get_if<Record>(&item))
    for (const auto& [name, value] : record->values) check_name(name);
  if (const auto* text = std::get_if<TextItem>(&item)) check_name(text->tag);
  if (const auto* image = std::get_if<ImageItem>(&item)) check_name(image->tag);
  if (const auto* histogram = std::get_if<HistogramItem>(&item)) check_name(histogram->tag);
}

State part_of(const State& saved, const std::string& name) {
  const auto found = saved.parts.find(name);
  return found == saved.parts.end() ? State{} : found->second;
}

}  // namespace

std::filesystem::path tracking_folder(const std::filesystem::path& run) { return run / "tracking"; }

Trackers::Trackers(std::vector<NamedTracker> trackers, RunFacts facts, const TrackerPatience& patience)
    : trackers_(std::move(trackers)),
      facts_(std::move(facts)),
      patience_(patience),
      shows_images_(
          std::ranges::any_of(trackers_, [](const NamedTracker& each) { return each.facts.images; })) {}

void Trackers::start(std::optional<std::int64_t> resumed_at, double resumed_epoch) {
  if (std::exchange(started_, true)) throw std::logic_error("The trackers were started twice.");
  facts_.resumed_at = resumed_at;
  facts_.resumed_epoch = resumed_epoch;
  const std::filesystem::path folder = tracking_folder(facts_.folder);
  if (!lock_other_trackers())
    std::erase_if(trackers_, [](const NamedTracker& each) { return !each.essential; });
  if (!trackers_.empty()) identify(facts_, saved_);
  for (NamedTracker& each : trackers_) {
    const bool essential = each.essential;
    const std::string name = each.name;
    RunFacts own = facts_;
    if (resumed_at) own.place = part_of(part_of(saved_, places), name);
    try {
      workers_.push_back(
          std::make_unique<TrackerWorker>(std::move(each), own, folder, part_of(saved_, name), patience_));
    } catch (const std::exception& error) {
      if (essential) throw;
      log::warning("Tracker \"{}\" is switched off: {} The run continues without it.", name, error.what());
    }
  }
  trackers_.clear();
}

bool Trackers::lock_other_trackers() {
  using Clock = std::chrono::steady_clock;
  if (std::ranges::all_of(trackers_, &NamedTracker::essential)) return true;
  const auto end = Clock::now() + std::chrono::duration<double>(patience_.other_process);
  const std::filesystem::path file = tracking_folder(facts_.folder) / "lock";
  while (!(lock_ = FileLock::try_lock(file)) && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (!lock_)
    log::warning(
        "Another process is sending the metrics of {}. The run continues without its other trackers; only "
        "metrics.jsonl is written.",
        facts_.folder.string());
  return lock_ != nullptr;
}

Trackers::~Trackers() {
  try {
    finish(Outcome::failed);
  } catch (const std::exception& error) {
    log::error("{}", error.what());
  }
}

void Trackers::log(Record record) {
  if (record.wall_time == 0) record.wall_time = wall_clock();
  put(std::move(record));
}

void Trackers::text(std::string tag, std::string text, std::int64_t step) {
  put(TextItem{std::move(tag), std::move(text), step});
}

void Trackers::image(std::string tag, Picture image, std::int64_t step) {
  put(ImageItem{std::move(tag), std::move(image), step});
}

void Trackers::histogram(std::string tag, Histogram histogram, std::int64_t step) {
  put(HistogramItem{std::move(tag), std::move(histogram), step});
}

void Trackers::artifact(std::string name, std::filesystem::path file) {
  auto below = path_below(run_of(facts_.folder), file);  // so that the run folder can be moved
  put(ArtifactItem{std::move(name), below ? *std::move(below) : std::filesystem::absolute(file)});
}

void Trackers::put(Item item, const std::string& only) {
  check_names(item);
  if (!started_) throw std::logic_error("Something was logged before the trackers were started.");
  if (finished_) throw std::logic_error("Something was logged after the trackers had finished.");
  const auto shared = std::make_shared<const Item>(std::move(item));
  try {
    for (const auto& worker : workers_)
      if (only.empty() || worker->name() == only) worker->put(shared);
  } catch (...) {
    told_failure_ = true;
    throw;
  }
}

void Trackers::flush() const {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  for (const auto& worker : workers_) {
    // A run resumed from this checkpoint would not log these items again.
    for (bool told = false; worker->essential() && !worker->flush(patience_.essential_flush); told = true) {
      if (!told)
        log::warning("Waiting for {}: the disk is slow. The run continues after that.", worker->name());
    }
  }
  const auto end = Clock::now() + Seconds(patience_.other_flush);
  for (const auto& worker : workers_) {
    if (!worker->essential()) worker->flush(std::max(0.0, Seconds(end - Clock::now()).count()));
  }
  flush_append_files(facts_.folder);  // like the checkpoint, records must survive a power cut
}

std::vector<std::string> Trackers::names() const {
  std::vector<std::string> names;
  for (const auto& worker : workers_) names.push_back(worker->name());
  return names;
}

State Trackers::save() const {
  if (!started_) return saved_;
  flush();
  State state;
  state.texts["id"] = facts_.id;
  state.numbers["started_at"] = facts_.started_at;
  for (const auto& worker : workers_) {
    State part = worker->state();
    if (!part.empty()) state.parts[worker->name()] = std::move(part);
    State place = worker->place();
    if (!place.empty()) state.parts[places].parts[worker->name()] = std::move(place);
  }
  return state;
}

// If an essential tracker has failed, the others are told that the run failed.
void Trackers::finish(Outcome outcome, std::string message) {
  if (std::exchange(finished_, true)) return;
  RunEnd how{outcome, std::move(message), wall_clock()};
  auto end = std::make_shared<const Item>(how);
  for (const auto& worker : workers_) {
    if (!worker->end(end))
      end = std::make_shared<const Item>(RunEnd{Outcome::failed, "metrics cannot be written", how.wall_time});
  }
  std::string failure;
  for (const auto& worker : workers_) {
    if (worker->remote() && !worker->ends_within(patience_.silent_end)) {
      const std::string trouble = worker->trouble();
      log::info(
          "Waiting for tracker \"{}\": {} What cannot be sent within about {} seconds is kept; send it "
          "later with: runner track {}",
          worker->name(), trouble.empty() ? "its server is slow." : trouble,
          trouble.empty() ? patience_.at_the_end : patience_.outage_at_the_end,
          run_of(facts_.folder).string());
    }
    std::string why = worker->join();
    if (failure.empty()) failure = std::move(why);
  }
  lock_.reset();
  if (!failure.empty() && !std::exchange(told_failure_, true)) throw std::runtime_error(failure);
}

}  // namespace runner
