#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "components/trackers/tracker.hpp"

namespace runner {

// JSON has no number for what is not finite: a string that Python's float() and JavaScript's Number() take,
// and protobuf's JSON too. A null would not say which.
inline nlohmann::ordered_json json_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

// What json_number() made of a number that is not finite; nothing where it is another word.
inline std::optional<double> number_of_word(std::string_view word) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (word == "Infinity") return infinity;
  if (word == "-Infinity") return -infinity;
  return std::nullopt;
}

// What json_number() made; nothing where it is no number.
template <class Json>
std::optional<double> number_of_json(const Json& json) {
  if (json.is_number()) return json.template get<double>();
  return json.is_string() ? number_of_word(json.template get_ref<const std::string&>()) : std::nullopt;
}

inline nlohmann::ordered_json json_setting(const Setting& setting) {
  if (const auto* number = std::get_if<double>(&setting)) return json_number(*number);
  return std::visit([](const auto& value) { return nlohmann::ordered_json(value); }, setting);
}

// One line; bytes that are not UTF-8 are replaced.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace runner
