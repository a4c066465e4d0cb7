#pragma once

#include "runner/runs/tracking/tracker_worker.hpp"

namespace runner {

// The records of metrics.jsonl, which has all of them, with the values that the tracker lacks of them.
// Nothing if the tracker cannot tell what it has. The tracker knows its state, but need not be started.
std::vector<Record> missing_records(Tracker& tracker, const RunFacts& facts);

}  // namespace runner
