#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runner/sweep/space.hpp"

namespace runner {

struct Trial {
  enum class Outcome { unfinished, finished, stopped_early, failed };

  std::int64_t number = 0;
  Point point = {};
  std::int64_t threads = 0;  // run.threads, which must stay the same in a resumed trial; 0: as in the recipe
  Outcome outcome = Outcome::unfinished;
  std::optional<double> value = {};  // the best of the metric
  double step = 0, seconds = 0;      // at its end
  std::string message = {};          // why it failed
};

std::string to_string(Trial::Outcome outcome);

// trials.jsonl of a sweep: one line when a trial starts, one when it ends, so that a sweep that was killed
// knows what it has done.
class TrialJournal {
 public:
  explicit TrialJournal(std::filesystem::path file);  // reads what is there; a torn last line is cut off

  const std::vector<Trial>& trials() const { return trials_; }
  void start(const Trial& trial);  // a new one, or one that is run again
  void end(const Trial& trial);

 private:
  void append(const std::string& line);

  std::filesystem::path file_;
  std::vector<Trial> trials_;
};

}  // namespace runner
