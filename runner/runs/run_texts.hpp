#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace runner {

// The warnings in the log.txt of a run, each text once.
std::vector<std::string> warnings_in(const std::filesystem::path& log);

// The last text of each tag in texts.jsonl, such as "eval/confusion_matrix", in order of first appearance.
// Incomplete lines are skipped.
std::vector<std::pair<std::string, std::string>> read_texts(const std::filesystem::path& file);

}  // namespace runner
