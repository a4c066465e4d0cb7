#pragma once

#include <filesystem>

#include "components/trackers/tracker.hpp"
#include "registry/value.hpp"
#include "runner/recipe.hpp"

namespace runner {

// What trackers are told about a run, from its conformed recipe; secrets stay out.
RunFacts run_facts(const RunSection& run, const std::filesystem::path& folder, const Value& recipe);

}  // namespace runner
