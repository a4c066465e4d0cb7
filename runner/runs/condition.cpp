#include "runner/runs/condition.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <variant>

#include "registry/base/duration.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

using Held = std::variant<std::string, double>;

std::optional<double> as_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Held> value_of(std::string_view key, const RunRecord& run, const RunSummaryLine& line) {
  if (key == "name") return run.name;
  if (key == "status") return run.status;
  if (key == "steps") return static_cast<double>(line.steps);
  if (key == "duration") return line.seconds;
  if (key == "best") return line.best ? std::optional<Held>(line.best->at.value) : std::nullopt;
  const auto measured = std::ranges::find(line.last, key, [](const auto& each) { return each.first; });
  if (measured != line.last.end()) return measured->second;
  const auto setting = run.setting(key);
  return setting ? std::optional<Held>(*setting) : std::nullopt;
}

std::optional<double> as_number(const Held& held) {
  if (const auto* number = std::get_if<double>(&held)) return *number;
  return as_number(std::string_view(std::get<std::string>(held)));
}

bool is_number(std::string_view key) { return key == "steps" || key == "duration" || key == "best"; }

// "90", or a duration in seconds, "1h".
std::optional<double> number_for(std::string_view key, std::string_view text) {
  if (const auto number = as_number(text)) return number;
  if (key != "duration") return std::nullopt;
  const auto parsed = parse_duration(text);
  const auto* duration = std::get_if<Duration>(&parsed);
  return duration && duration->unit == Duration::Unit::second ? std::optional(duration->amount)
                                                              : std::nullopt;
}

}  // namespace

Condition Condition::parse(std::string_view text) {
  const auto at = text.find_first_of("=!<>");
  if (at != std::string_view::npos && at > 0) {
    const bool two = at + 1 < text.size() && text[at + 1] == '=';
    const std::string comparison(text.substr(at, two ? 2 : 1));
    if (comparison != "!") {
      Condition condition{std::string(text.substr(0, at)), comparison == "==" ? "=" : comparison,
                          std::string(text.substr(at + comparison.size()))};
      if (is_number(condition.key) && !number_for(condition.key, condition.value))
        throw std::invalid_argument(
            in_quotes(text) + " compares " + condition.key + " with " + in_quotes(condition.value) +
            ", which is not a number" +
            (condition.key == "duration" ? " of seconds or a time such as 10min" : ""));
      return condition;
    }
  }
  throw std::invalid_argument(
      in_quotes(text) +
      " is not a condition; write KEY=VALUE, for example optimizer.name=sgd, or use !=, <, "
      "<=, > or >= in place of =");
}

bool Condition::applies(const RunRecord& run, const RunSummaryLine& line) const {
  return value_of(key, run, line).has_value();
}

bool Condition::holds(const RunRecord& run, const RunSummaryLine& line) const {
  const auto held = value_of(key, run, line);
  if (!held) return comparison == "!=";
  const auto left = as_number(*held), right = number_for(key, value);
  const auto compare = [&](const auto& a, const auto& b) {
    if (comparison == "=") return a == b;
    if (comparison == "!=") return a != b;
    if (comparison == "<") return a < b;
    if (comparison == "<=") return a <= b;
    if (comparison == ">") return a > b;
    return a >= b;
  };
  if (left && right) return compare(*left, *right);
  const auto* text = std::get_if<std::string>(&*held);
  return text ? compare(*text, value) : comparison == "!=";
}

}  // namespace runner
