#include "runner/runs/run_metrics.hpp"

#include <algorithm>
#include <cmath>

namespace runner {

namespace {

constexpr std::size_t most_moments = 512;

void drop_every_second(std::vector<Moment>& moments) {
  std::size_t kept = 1;
  for (std::size_t i = 2; i + 1 < moments.size(); i += 2) moments[kept++] = moments[i];
  moments[kept++] = moments.back();
  moments.resize(kept);
}

}  // namespace

void RunMetrics::add(const Record& record) {
  const auto step = static_cast<double>(record.step);
  while (!clock_.empty() && step < clock_.back().step) clock_.pop_back();
  if (clock_.empty() || step > clock_.back().step) clock_.push_back({step, record.epoch, record.time});
  if (clock_.size() > 2 * most_moments) drop_every_second(clock_);
  for (const auto& [name, value] : record.values) add(name, step, value);
  add_speed(record);
}

void RunMetrics::add(const std::string& name, double step, double value) {
  const auto [place, is_new] = places_.try_emplace(name, series_.size());
  if (is_new) series_.push_back({name, Curve()});
  series_[place->second].curve.add(step, value);
}

void RunMetrics::add_speed(const Record& record) {
  const auto has = [&](auto&& wanted) { return std::ranges::any_of(record.values, wanted); };
  if (has([](const auto& value) { return value.first.ends_with("per_second"); })) speed_is_logged_ = true;
  if (speed_is_logged_ || !has([](const auto& value) { return value.first == "train/loss"; })) return;
  const Moment now{static_cast<double>(record.step), record.epoch, record.time};
  if (last_training_ && now.step > last_training_->step && now.time > last_training_->time) {
    add(std::string(derived_speed), now.step,
        (now.step - last_training_->step) / (now.time - last_training_->time));
  }
  last_training_ = now;
}

void RunMetrics::thin(std::size_t points) {
  if (series_.empty()) return;
  for (Series& each : series_) each.curve.thin(points / series_.size());
  while (clock_.size() > 64) drop_every_second(clock_);
}

const Series* RunMetrics::find(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &series_[place->second];
}

double RunMetrics::epoch_at(double step) const {
  const auto next = std::ranges::lower_bound(clock_, step, {}, &Moment::step);
  if (next == clock_.end()) return last().epoch;
  if (next->step == step || next == clock_.begin()) return next->epoch;
  const Moment& before = *std::prev(next);
  return before.epoch + (next->epoch - before.epoch) * (step - before.step) / (next->step - before.step);
}

std::optional<SeriesValue> RunMetrics::best_of(std::string_view name, bool highest) const {
  const Series* series = find(name);
  if (!series) return std::nullopt;
  std::optional<SeriesValue> best;
  for (const CurvePoint& point : series->curve.points()) {
    if (!std::isfinite(point.y)) continue;
    if (!best || (highest ? point.y > best->value : point.y < best->value)) {
      best = SeriesValue{point.y, point.x, epoch_at(point.x)};
    }
  }
  return best;
}

}  // namespace runner
