#include "runner/train/best_model.hpp"

#include <algorithm>
#include <cmath>

namespace runner {

bool BestModel::admit(const Progress& progress, const Measurements& measurements) {
  const auto value = find_measurement(measurements, rule_.metric);
  if (!value || std::isnan(*value)) return false;
  // If all updates since then were skipped, these are the same weights.
  if (std::ranges::find(kept_, progress.step, &Kept::step) != kept_.end()) return false;
  const auto place =
      std::ranges::find_if(kept_, [&](const Kept& other) { return is_better(mode(), *value, other.value); });
  const auto most = static_cast<std::size_t>(rule_.keep);
  if (place == kept_.end() && kept_.size() >= most) return false;
  std::erase(displaced_, progress.step);  // if the run resumed with another metric: the file is in use again
  kept_.insert(place, {*value, progress.step, progress.exact_epoch});
  while (kept_.size() > most) {
    displaced_.push_back(kept_.back().step);
    kept_.pop_back();
  }
  return true;
}

void BestModel::forget(std::int64_t step) {
  std::erase_if(kept_, [&](const Kept& one) { return one.step == step; });
}

std::int64_t BestModel::newest_step() const {
  return kept_.empty() ? 0 : std::ranges::max(kept_, {}, &Kept::step).step;
}

State BestModel::save() const {
  State state{.integers = {{"count", static_cast<std::int64_t>(kept_.size())}},
              .texts = {{"metric", rule_.metric}, {"mode", mode_name()}}};
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const std::string number = "." + std::to_string(i);
    state.integers["step" + number] = kept_[i].step;
    state.numbers["epoch" + number] = kept_[i].epoch;
    state.numbers["value" + number] = kept_[i].value;
  }
  return state;
}

void BestModel::load(const State& state) {
  StateReader saved(state);
  kept_.clear();
  displaced_.clear();
  const std::int64_t count = saved.integer("count");
  const bool same_metric = saved.text("metric") == rule_.metric;
  const bool comparable = saved.text("mode") == mode_name() && same_metric;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string number = "." + std::to_string(i);
    const Kept one{saved.number("value" + number), saved.integer("step" + number),
                   saved.number("epoch" + number)};
    // The recipe may keep fewer now, or use another metric.
    if (comparable && i < rule_.keep)
      kept_.push_back(one);
    else
      displaced_.push_back(one.step);
  }
  saved.finish();
}

}  // namespace runner
