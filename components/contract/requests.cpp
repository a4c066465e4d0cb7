#include "components/contract/requests.hpp"

#include <sstream>

namespace runner {

namespace {

// The saved list of names has one in each line, but a name may contain anything.
std::string as_line(const std::string& name) {
  std::string line;
  for (const char character : name) {
    if (character == '\n' || character == '\\') line += '\\';
    line += character == '\n' ? 'n' : character;
  }
  return line;
}

std::string from_line(const std::string& line) {
  std::string name;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool escaped = line[i] == '\\' && i + 1 < line.size();
    if (escaped) ++i;
    name += escaped && line[i] == 'n' ? '\n' : line[i];
  }
  return name;
}

}  // namespace

State Requests::save() const {
  State state;
  State& metrics = state.parts["metrics"];
  std::string& names = metrics.texts["names"];  // one per line, in the order in which they were logged
  for (const auto& [name, value] : measurements_) {
    names += as_line(name) + "\n";
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
  for (std::string line; std::getline(names, line);) {
    const std::string name = from_line(line);
    measurements_.emplace_back(name, metrics.number(name));
  }
  metrics.finish();
  const std::string* reason = saved.find_text("stop_reason");
  reason_ = reason ? std::optional(*reason) : std::nullopt;
  rate_ = saved.find_number("learning_rate");
  skip_ = saved.find_integer("skip_update").has_value();
  saved.finish();
}

}  // namespace runner
