#pragma once

#include <string>
#include <vector>

#include "runner/tracking/tracker_worker.hpp"

namespace runner {

struct SentLater {
  std::string tracker;
  bool nothing_to_do = false;  // it has everything, the end of the run included
  bool complete = false;       // it has everything now
};

// Gives each tracker of a run that is over what it could not be given while the run was going; one that never
// heard of the end of the run is told of it, or, where nobody knows how it ended because the process was
// killed, that it failed. Throws std::runtime_error where the run is still running, or left nothing for
// trackers.
std::vector<SentLater> send_later(std::vector<NamedTracker> trackers, RunFacts facts,
                                  const std::optional<RunEnd>& end = {});

}  // namespace runner
