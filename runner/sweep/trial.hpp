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
  std::optional<double> value = {};  // the best value of the metric
  double step = 0, seconds = 0;      // when it ended
  std::string message = {};          // why it failed
};

std::string to_string(Trial::Outcome outcome);

// How a trial ended, by the exit code of its process: `given_up`, it was told to stop, but may have come to
// its end before that; `interrupted`, so was the whole sweep.
Trial::Outcome outcome_of(int exit_code, bool given_up, bool interrupted);

// trials.jsonl of a sweep: a line when a trial starts and one when it ends, so that a sweep that was killed
// can be resumed.
class TrialJournal {
 public:
  // Reads the file, and cuts off a torn last line. Each trial has a value for each of the parameters.
  TrialJournal(std::filesystem::path file, std::size_t parameters);

  const std::vector<Trial>& trials() const { return trials_; }
  void start(const Trial& trial);  // a new trial, or one that is run again
  void end(const Trial& trial);

 private:
  void append(const std::string& line);

  std::filesystem::path file_;
  std::vector<Trial> trials_;
};

}  // namespace runner
