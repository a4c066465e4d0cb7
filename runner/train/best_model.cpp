#include "runner/train/best_model.hpp"

#include <algorithm>
#include <cmath>

namespace runner {

bool BestModel::improved(const Progress& progress, const Measurements& measurements) {
  const auto found =
      std::ranges::find(measurements, rule_.metric, [](const auto& pair) { return pair.first; });
  if (found == measurements.end() || std::isnan(found->second)) return false;
  const double value = found->second;
  const bool better = !value_ || (rule_.mode == Better::max ? value > *value_ : value < *value_);
  if (better) {
    value_ = value;
    when_ = progress;
  }
  return better;
}

State BestModel::save() const {
  State state{.integers = {{"step", when_.step}}, .numbers = {{"epoch", when_.exact_epoch}}};
  if (value_) state.numbers["value"] = *value_;
  return state;
}

void BestModel::load(const State& state) {
  StateReader saved(state);
  value_ = saved.find_number("value");
  when_.step = saved.integer("step");
  when_.exact_epoch = saved.number("epoch");
  saved.finish();
}

}  // namespace runner
