#include "runner/tracking/send_later.hpp"

#include "components/support/io/file_lock.hpp"
#include "runner/tracking/run_facts.hpp"
#include "runner/tracking/trackers.hpp"

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
    sent.push_back({each.name, has_everything(folder, each.name)});
    if (sent.back().nothing_to_do) continue;
    workers.push_back(std::make_unique<TrackerWorker>(std::move(each), facts, folder, State{}, patience));
    workers.back()->close(end ? std::make_shared<const Item>(*end) : nullptr);
  }
  for (const auto& worker : workers) worker->join();
  for (SentLater& each : sent) each.complete = has_everything(folder, each.tracker);
  return sent;
}

}  // namespace runner
