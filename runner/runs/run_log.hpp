#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace runner {

// The warnings in the log.txt of a run, each text once.
std::vector<std::string> warnings_in(const std::filesystem::path& log);

}  // namespace runner
