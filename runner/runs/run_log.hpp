#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace runner {

// What log.txt of a run tells that no other file does.
struct RunLog {
  std::vector<std::string> warnings = {};  // each text once
  std::vector<std::pair<std::string, std::string>> texts =
      {};  // the last of each tag: "eval/confusion_matrix"
};

RunLog read_log(const std::filesystem::path& path);

}  // namespace runner
