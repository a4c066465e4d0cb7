#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "components/trackers/tracker.hpp"
#include "runner/runs/curve.hpp"

namespace runner {

// When a step was: the axes that a curve can have.
struct Moment {
  double step = 0, epoch = 0, time = 0;
};

struct Series {
  std::string name;  // "train/loss"
  Curve curve;
};

// A notable value of a series, and its step.
struct SeriesValue {
  double value = 0;
  double step = 0, epoch = 0;
};

// All curves of a run, as records come in.
class RunMetrics {
 public:
  void add(const Record& record);
  // So that all curves together have about that many points.
  void thin(std::size_t points);

  const std::vector<Series>& series() const { return series_; }
  const Series* find(std::string_view name) const;
  const std::vector<Moment>& clock() const { return clock_; }
  Moment last() const { return clock_.empty() ? Moment{} : clock_.back(); }

  std::optional<SeriesValue> last_of(std::string_view name) const;
  std::optional<SeriesValue> best_of(std::string_view name, bool highest) const;  // among finite values

 private:
  void add(const std::string& name, double step, double value);
  void add_speed(const Record& record);
  double epoch_at(double step) const;

  std::vector<Series> series_;  // in the order in which they first came
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<Moment> clock_;
  std::optional<Moment> last_training_;
  bool speed_is_logged_ = false;
};

// Not every run logs its speed, but every run has its times.
inline constexpr std::string_view derived_speed = "train/steps_per_second";

}  // namespace runner
