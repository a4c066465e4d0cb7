#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace runner {

// A place in the training data: the run is at example `position` of epoch `epoch`.
struct Cursor {
  std::int64_t epoch = 0;
  std::int64_t position = 0;
  bool operator==(const Cursor&) const = default;
};

// How far a run has come. Hooks, schedules and intervals read it; only the loop advances it.
struct Progress {
  std::int64_t step = 0;           // optimizer updates done
  std::int64_t epoch = 0;          // whole epochs done
  std::int64_t examples = 0;       // training examples seen in total
  std::int64_t skipped_steps = 0;  // updates skipped because a gradient was not finite
  double exact_epoch = 0;          // epochs done, with the fraction
  double seconds = 0;              // duration of the run, including the time before a resume
  double share = 0;                // the fraction of the run that is done, 0 to 1
  std::int64_t total_steps = 0;    // as planned; 0: unknown, because only the time is limited
  Cursor cursor = {};              // where the next update step begins
};

// The value of each metric at one moment: {"eval/accuracy", 0.93}.
using Measurements = std::vector<std::pair<std::string, double>>;

// The value of the metric with this name, if it was measured.
inline std::optional<double> find_measurement(const Measurements& measurements, std::string_view name) {
  for (const auto& [measured, value] : measurements)
    if (measured == name) return value;
  return std::nullopt;
}

}  // namespace runner
