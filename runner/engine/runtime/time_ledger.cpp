#include "runner/engine/runtime/time_ledger.hpp"

#include <numeric>
#include <string>

namespace runner {

void TimeLedger::switch_to(Activity activity) {
  const Clock::time_point now = Clock::now();
  spent_[current_] += std::chrono::duration<double>(now - since_).count();
  since_ = now;
  current_ = activity;
}

double TimeLedger::seconds(Activity activity) const {
  const double running = activity == current_ ? seconds_since(since_) : 0;
  return spent_[activity] + running;
}

void TimeLedger::restarted(double seconds_lost) {
  spent_[lost] += seconds_lost;
  ++restarts_;
}

double TimeLedger::total() const {
  return std::accumulate(spent_.begin(), spent_.end(), 0.0) + seconds_since(since_);
}

State TimeLedger::save() const {
  State state;
  for (std::size_t i = 0; i < names.size(); ++i)
    state.numbers[std::string(names[i])] = seconds(static_cast<Activity>(i));
  state.integers["restarts"] = restarts_;
  return state;
}

void TimeLedger::load(const State& state) {
  StateReader saved(state);
  for (std::size_t i = 0; i < names.size(); ++i) spent_[i] += saved.number(std::string(names[i]));
  restarts_ += saved.integer("restarts");
  saved.finish();
}

}  // namespace runner
