#pragma once

#include "components/trackers/tracker.hpp"

namespace runner {

// Fills in the id and the start of the run: what an earlier process wrote into run.json in the run's folder,
// else what the checkpoint says, else new ones. Afterwards they are in the file.
void identify(RunFacts& facts, const State& saved);

}  // namespace runner
