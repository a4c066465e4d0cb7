#pragma once

#include <string>
#include <vector>

#include "runner/runs/tracking/tracker_worker.hpp"

namespace runner {

struct SentLater {
  std::string tracker;
  bool nothing_to_do = false;  // it already had everything, including the end of the run
  bool complete = false;       // it has everything now: what was kept, and every point of metrics.jsonl
  std::size_t refilled = 0;    // points that it got from metrics.jsonl
  std::size_t missing = 0;     // points of metrics.jsonl that it still lacks
};

// Sends each tracker of an ended run the data that could not be sent during the run. A tracker that has not
// received the end of the run gets it, too: as failed, if the process was killed and the end is unknown. A
// tracker whose saved state cannot be read is skipped with a warning.
// Throws std::runtime_error if the run is still running, or had no trackers.
std::vector<SentLater> send_later(std::vector<NamedTracker> trackers, RunFacts facts,
                                  const std::optional<RunEnd>& end = {});

}  // namespace runner
