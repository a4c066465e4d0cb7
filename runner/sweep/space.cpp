#include "runner/sweep/space.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numbers>
#include <stdexcept>

#include "registry/base/trimmed.hpp"
#include "registry/base/wording.hpp"
#include "registry/value.hpp"

namespace runner {

namespace {

constexpr std::array<std::string_view, 5> names{"choice", "range", "uniform", "log_uniform", "log_int"};

struct ParsedArgument {
  std::string_view key, name, inside;
  bool closed = false;
};

ParsedArgument parse_argument(std::string_view argument) {
  const auto equals = argument.find('=');
  if (equals == std::string_view::npos) return {};
  const std::string_view value = argument.substr(equals + 1);
  const auto open = value.find('(');
  if (open == std::string_view::npos) return {};
  const bool closed = value.ends_with(')');
  return {argument.substr(0, equals), value.substr(0, open),
          value.substr(open + 1, value.size() - open - (closed ? 2 : 1)), closed};
}

// Ignores commas inside brackets or quotes.
std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (i < text.size() && quote) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{' || c == '(') {
      ++depth;
    } else if (c == ']' || c == '}' || c == ')') {
      --depth;
    } else if (c == ',' && (depth == 0 || i == text.size())) {
      parts.emplace_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

[[noreturn]] void fail(std::string_view argument, const std::string& why) {
  throw std::invalid_argument(in_quotes(argument) + ": " + why);
}

std::vector<double> numbers(std::string_view argument, const std::vector<std::string>& parts,
                            std::size_t least, std::size_t most) {
  if (parts.size() < least || parts.size() > most) {
    fail(argument,
         "takes " + std::to_string(least) + (most > least ? " or " + std::to_string(most) : "") + " numbers");
  }
  std::vector<double> found;
  for (const std::string& part : parts) {
    double number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc{} || end != part.data() + part.size() || !std::isfinite(number))
      fail(argument, in_quotes(part) + " is not a number");
    found.push_back(number);
  }
  return found;
}

// Values are stored as doubles, which hold every integer below this.
constexpr double exact_below = 0x1p53;

void require_integers(std::string_view argument, const std::vector<double>& numbers,
                      const std::string& if_not) {
  for (const double number : numbers) {
    if (number != std::floor(number)) fail(argument, if_not);
    if (std::abs(number) >= exact_below)
      fail(argument, "integers must be below " + std::to_string(std::llround(exact_below)) +
                         "; for larger ones: choice(..)");
  }
}

Parameter range(std::string_view argument, Parameter parameter, const std::vector<std::string>& parts) {
  const auto ends = numbers(argument, parts, 2, 3);
  require_integers(argument, ends, "a range needs whole numbers; for others: uniform(low, high)");
  parameter.kind = Parameter::Kind::integer;
  parameter.step = ends.size() > 2 ? ends[2] : 1;
  if (parameter.step < 1) fail(argument, "the step of a range must be at least 1");
  if (ends[1] <= ends[0]) fail(argument, "is empty: its end, which is not included, must be above its start");
  parameter.low = ends[0];
  parameter.high = ends[0] + parameter.step * std::floor((ends[1] - ends[0] - 1) / parameter.step);
  return parameter;
}

}  // namespace

bool is_parameter(std::string_view argument) {
  const ParsedArgument parsed = parse_argument(argument);
  for (const std::string_view name : names) {
    if (parsed.name == name) return true;
  }
  return false;
}

Parameter parse_parameter(std::string_view argument) {
  const ParsedArgument parsed = parse_argument(argument);
  if (!is_parameter(argument)) {
    fail(argument,
         "is not a sweep setting; write KEY=choice(..), range(..), uniform(..), log_uniform(..) or "
         "log_int(..)");
  }
  if (parsed.key.empty()) fail(argument, "has no key before the \"=\"");
  if (!parsed.closed) fail(argument, "the closing \")\" is missing");
  const std::vector<std::string> parts = split_at_commas(parsed.inside);
  Parameter parameter{.key = std::string(parsed.key)};
  if (parsed.name == "choice") {
    if (parts.empty()) fail(argument, "there is nothing to choose from");
    parameter.choices = parts;
    return parameter;
  }
  if (parsed.name == "range") return range(argument, std::move(parameter), parts);
  const auto ends = numbers(argument, parts, 2, 2);
  parameter.kind = parsed.name == "log_int" ? Parameter::Kind::integer : Parameter::Kind::uniform;
  parameter.low = ends[0];
  parameter.high = ends[1];
  parameter.log = parsed.name != "uniform";
  if (parameter.kind == Parameter::Kind::integer)
    require_integers(argument, ends, "both numbers must be integers; for others: log_uniform(low, high)");
  if (ends[1] <= ends[0]) fail(argument, "the second number must be above the first");
  if (parameter.log && ends[0] <= 0) fail(argument, "numbers must be above 0: zero has no logarithm");
  return parameter;
}

std::size_t Parameter::count() const {
  return kind == Kind::choice ? choices.size()
                              : static_cast<std::size_t>(std::llround((high - low) / step)) + 1;
}

double Parameter::value(std::size_t index) const {
  return kind == Kind::choice ? static_cast<double>(index) : low + step * static_cast<double>(index);
}

double Parameter::half_step() const { return kind == Kind::integer ? step / 2 : 0; }

double Parameter::rounded(double value) const {
  if (kind == Kind::choice) return value;
  if (kind == Kind::integer) return std::clamp(low + std::round((value - low) / step) * step, low, high);
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  std::from_chars(text, text + std::strlen(text), value);
  return std::clamp(value, low, high);
}

std::string Parameter::text(double value) const {
  if (kind == Kind::choice) return choices.at(static_cast<std::size_t>(value));
  if (kind == Kind::integer) return std::to_string(std::llround(value));
  return to_toml(Value(Value::Data(value)));
}

std::vector<double> Parameter::extremes() const {
  if (kind == Kind::integer) return {low, high};
  if (kind == Kind::uniform) return {low, low + (high - low) / std::numbers::pi, high};
  std::vector<double> all;
  for (std::size_t i = 0; i < choices.size(); ++i) all.push_back(static_cast<double>(i));
  return all;
}

}  // namespace runner
