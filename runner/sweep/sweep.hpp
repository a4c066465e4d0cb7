#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runner/runs/run_record.hpp"
#include "runner/sweep/sampler.hpp"
#include "runner/sweep/trial.hpp"

namespace runner {

struct SweepPlan {
  std::filesystem::path recipe;
  std::vector<std::string> overrides = {};              // for all trials
  std::map<std::string, std::string> environment = {};  // of all trials; complete
  std::vector<Parameter> parameters = {};
  Objective objective = {};
  std::filesystem::path folder;
  std::int64_t samples = 0;  // number of trials; 0: until the sampler has no more
  std::int64_t jobs = 1;
  std::int64_t ranks = 1;    // of each trial
  std::int64_t threads = 0;  // of a new trial; 0: as in the recipe
  bool halving = false;
  bool retry_failed = false;

  std::vector<std::string> settings(const Point& point) const;  // "optimizer.lr=0.1" ..
  std::filesystem::path trial_folder(std::int64_t trial) const;
};

// Called while a sweep is running.
struct SweepEvents {
  std::function<void(const Trial&)> started, ended;
  std::function<bool()> interrupted;  // asked a few times a second
};

// Runs the trials that have not ended yet, several at once. Returns all trials; those that an interruption
// left unfinished are resumed by the next call.
std::vector<Trial> run_sweep(const SweepPlan& plan, const Sampler& sampler, const SweepEvents& events);

// The best trial; null if no trial has a value.
const Trial* best_trial(const std::vector<Trial>& trials, const Objective& objective);
// The trials that have a value; with `unfinished`, also unfinished ones, marked as running.
std::vector<Observation> observations_of(const std::vector<Trial>& trials, const Objective& objective,
                                         bool unfinished = false);

}  // namespace runner
