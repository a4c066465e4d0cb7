#pragma once

#include <filesystem>
#include <string>

#include "components/trackers/tracker.hpp"
#include "registry/value.hpp"

namespace runner {

// What trackers are told about a run, from its conformed recipe; secrets stay out.
RunFacts run_facts(const std::string& name, const std::filesystem::path& folder, const Value& recipe);

}  // namespace runner
