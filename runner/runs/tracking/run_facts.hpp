#pragma once

#include <filesystem>

#include "components/trackers/tracker.hpp"
#include "registry/value.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

// The facts about a run that trackers get, from its conformed recipe, without secrets.
RunFacts run_facts(const RunSection& run, const std::filesystem::path& folder, const Value& recipe);

// Sets the id and the start time of the run: from run.json in the run folder, otherwise from the checkpoint,
// otherwise new ones, and saves them in run.json.
void identify(RunFacts& facts, const State& saved);

}  // namespace runner
