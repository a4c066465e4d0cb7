#pragma once

#include <filesystem>
#include <string>

#include "components/contract/state.hpp"

namespace runner {

// What one process of a tracker saves for the next, as JSON beside the spool: the tracker's state, and
// whether it has received the end of the run.
class TrackerStateFile {
 public:
  explicit TrackerStateFile(std::filesystem::path path) : path_(std::move(path)) {}

  bool exists() const;
  State read() const;
  bool ended() const;
  void write(const State& state, bool ended);  // if something has changed

 private:
  std::filesystem::path path_;
  std::string written_;
};

}  // namespace runner
