#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "components/trackers/tracker.hpp"

namespace runner {

// JSON has no numbers that are not finite, so these become strings that Python's float(), JavaScript's
// Number() and protobuf's JSON accept. A null would not distinguish them.
inline nlohmann::ordered_json json_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

// The number that json_number() wrote as this word; nothing for any other word.
inline std::optional<double> number_of_word(std::string_view word) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (word == "Infinity") return infinity;
  if (word == "-Infinity") return -infinity;
  return std::nullopt;
}

// The inverse of json_number(); nothing if this is not a number.
template <class Json>
std::optional<double> number_of_json(const Json& json) {
  if (json.is_number()) return json.template get<double>();
  return json.is_string() ? number_of_word(json.template get_ref<const std::string&>()) : std::nullopt;
}

inline nlohmann::ordered_json json_setting(const Setting& setting) {
  if (const auto* number = std::get_if<double>(&setting)) return json_number(*number);
  return std::visit([](const auto& value) { return nlohmann::ordered_json(value); }, setting);
}

// On one line; bytes that are not valid UTF-8 are replaced.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace runner
