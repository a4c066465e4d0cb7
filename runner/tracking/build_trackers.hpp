#pragma once

#include <vector>

#include "registry/registry.hpp"
#include "runner/tracking/trackers.hpp"

namespace runner {

// The trackers of a recipe, and before them the one that writes metrics.jsonl: always there, named or not,
// and the only one a run cannot do without. On other ranks than the main one only those that ask for it.
std::vector<NamedTracker> build_trackers(const std::vector<Part<TrackerKind>>& parts,
                                         const Registry& registry, const TrackerInputs& inputs);

// The same by name, for people.
std::vector<std::string> tracker_names(const std::vector<Part<TrackerKind>>& parts);

}  // namespace runner
