#pragma once

#include <vector>

#include "registry/registry.hpp"
#include "runner/runs/tracking/trackers.hpp"

namespace runner {

// The trackers of a recipe, after the one that writes metrics.jsonl, which every run has and cannot do
// without. On ranks other than the main one, only those that ask to run on every rank.
std::vector<NamedTracker> build_trackers(const std::vector<Part<TrackerKind>>& parts,
                                         const Registry& registry, const TrackerInputs& inputs);

// Their names, to show to the user.
std::vector<std::string> tracker_names(const std::vector<Part<TrackerKind>>& parts);

}  // namespace runner
