#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "components/trackers/tracker.hpp"
#include "runner/runs/curve.hpp"

namespace runner {

// The epoch and time of a step, for the x axis of a curve.
struct Moment {
  double step = 0, epoch = 0, time = 0;
};

struct Series {
  std::string name;  // "train/loss"
  Curve curve;
};

// A value of a series, and when it was measured.
struct SeriesValue {
  double value = 0;
  double step = 0, epoch = 0;
};

// All curves of a run, collected from its records.
class RunMetrics {
 public:
  void add(const Record& record);
  // Reduces all curves together to about that many points.
  void thin(std::size_t points);

  const std::vector<Series>& series() const { return series_; }
  const Series* find(std::string_view name) const;
  const std::vector<Moment>& clock() const { return clock_; }
  Moment last() const { return clock_.empty() ? Moment{} : clock_.back(); }

  std::optional<SeriesValue> best_of(std::string_view name, bool highest) const;  // among finite values

 private:
  void add(const std::string& name, double step, double value);
  void add_speed(const Record& record);
  double epoch_at(double step) const;

  std::vector<Series> series_;  // in order of first appearance
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<Moment> clock_;
  std::optional<Moment> last_training_;
  bool speed_is_logged_ = false;
};

// Computed from the times of the records if the run does not log its speed.
inline constexpr std::string_view derived_speed = "train/steps_per_second";

}  // namespace runner
