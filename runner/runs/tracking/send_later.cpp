#include "runner/runs/tracking/send_later.hpp"

#include <algorithm>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/file_lock.hpp"
#include "runner/runs/tracking/missing.hpp"
#include "runner/runs/tracking/run_facts.hpp"
#include "runner/runs/tracking/trackers.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;

bool has_everything(const fs::path& folder, const std::string& name) {
  const TrackerStateFile state(folder / (name + ".json"));
  return state.exists() && state.ended() && Spool(folder / (name + ".spool")).size() == 0;
}

}  // namespace

std::vector<SentLater> send_later(std::vector<NamedTracker> trackers, RunFacts facts,
                                  const std::optional<RunEnd>& end) {
  const fs::path folder = tracking_folder(facts.folder);
  if (!fs::exists(folder))
    throw std::runtime_error("The run " + facts.folder.string() + " had no trackers besides metrics.jsonl.");
  const auto lock = FileLock::try_lock(folder / "lock");
  if (!lock)
    throw std::runtime_error(
        "The run " + facts.folder.string() +
        " is still running, or another process is sending its data; wait until it ends.");
  identify(facts, {});
  TrackerPatience patience;
  patience.between_sends = 0;
  patience.at_the_end = 1e9;  // the user waits for it, and can interrupt it

  std::vector<SentLater> sent;
  std::vector<std::unique_ptr<TrackerWorker>> workers;
  for (NamedTracker& each : trackers) {
    if (each.essential) continue;
    const std::string name = each.name;
    SentLater& result = sent.emplace_back(SentLater{.tracker = name});
    try {
      if (has_everything(folder, name)) {
        const State state = TrackerStateFile(folder / (name + ".json")).read();
        if (!state.empty()) each.tracker->load(state);
        result.nothing_to_do = result.complete = missing_records(*each.tracker, facts).empty();
      }
      if (result.nothing_to_do) continue;
      workers.push_back(std::make_unique<TrackerWorker>(
          std::move(each), facts, folder, State{}, patience,
          [&facts](Tracker& tracker) { return missing_records(tracker, facts); }));
      workers.back()->close(end ? std::make_shared<const Item>(*end) : nullptr);
    } catch (const std::exception& error) {  // the others are sent all the same
      log::warning("Tracker {} is skipped: {}", in_quotes(name), error.what());
    }
  }
  for (const auto& worker : workers) {
    worker->join();
    SentLater& result = *std::ranges::find(sent, worker->name(), &SentLater::tracker);
    result.refilled = worker->refilled();
    result.missing = worker->missing();
    result.complete = has_everything(folder, worker->name()) && result.missing == 0;
  }
  return sent;
}

}  // namespace runner
