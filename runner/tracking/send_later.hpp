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

// Gives each tracker of a run that is over what it could not be given while the run went on; one that never
// heard of the end of the run, because the process was killed, is told that it failed. Throws
// std::runtime_error where the run is still going on, or left nothing for trackers.
std::vector<SentLater> send_later(std::vector<NamedTracker> trackers, RunFacts facts);

}  // namespace runner
