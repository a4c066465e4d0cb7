#include "components/contract/requests.hpp"

#include <sstream>

namespace runner {

State Requests::save() const {
  State state;
  State& metrics = state.parts["metrics"];
  std::string& names = metrics.texts["names"];  // one a line, in the order in which they were logged
  for (const auto& [name, value] : measurements_) {
    names += name + "\n";
    metrics.numbers[name] = value;
  }
  if (reason_) state.texts["stop_reason"] = *reason_;
  if (rate_) state.numbers["learning_rate"] = *rate_;
  if (skip_) state.integers["skip_update"] = 1;
  return state;
}

void Requests::load(const State& state) {
  StateReader saved(state);
  StateReader metrics(saved.part("metrics"));
  measurements_.clear();
  std::istringstream names(metrics.text("names"));
  for (std::string name; std::getline(names, name);) measurements_.emplace_back(name, metrics.number(name));
  metrics.finish();
  const std::string* reason = saved.find_text("stop_reason");
  reason_ = reason ? std::optional(*reason) : std::nullopt;
  rate_ = saved.find_number("learning_rate");
  skip_ = saved.find_integer("skip_update").has_value();
  saved.finish();
}

}  // namespace runner
