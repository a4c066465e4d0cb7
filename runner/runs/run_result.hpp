#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "components/contract/measured.hpp"
#include "components/contract/outcome.hpp"
#include "runner/recipe/objective.hpp"

namespace runner {

// How a run ended, and its results. Written as result.json for every outcome.
struct RunResult {
  struct Best {
    std::string metric;
    double value = 0;
    std::int64_t step = 0;
    double epoch = 0;
  };

  Outcome outcome = Outcome::finished;
  std::string message = {};  // why it was stopped or failed
  int signal = 0;            // the one that interrupted the run
  std::int64_t steps = 0, skipped_steps = 0;
  double epochs = 0, seconds = 0;
  std::optional<Best> best = {};
  std::optional<Objective> objective = {};                                // what "best" means here
  std::map<std::string, Better> better = {};                              // of each metric that tells it
  std::vector<std::pair<std::string, double>> last = {};                  // the last evaluation
  std::vector<std::pair<std::string, double>> time = {};                  // seconds by activity; they add up
  std::vector<std::pair<std::string, std::filesystem::path>> files = {};  // name and path
  std::vector<std::string> warnings = {};
  std::string stand_in = {};  // why the data is not the data asked for; empty: it is
  std::map<std::string, std::string> versions = {};

  int exit_code() const;  // 0 finished or stopped, 1 failed, 128 + signal
};

// The text of result.json; paths inside the run folder are relative to it.
std::string result_json(const RunResult& result, const std::filesystem::path& run_folder);

// The versions of "runner" and "libtorch", and the checksums of loaded plugins: "plugin focal.so".
std::map<std::string, std::string> versions();
// Results can be bit-identical only if these, the recipe and the number of ranks are the same.
std::map<std::string, std::string> versions_and_threads();

}  // namespace runner
