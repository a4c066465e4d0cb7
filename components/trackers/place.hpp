#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "components/trackers/tracker.hpp"

namespace runner {

// An entry of the place that a resumed run continues from; nothing if it is unknown.
inline std::optional<std::int64_t> place_integer(const RunFacts& facts, const std::string& name) {
  const auto found = facts.place.integers.find(name);
  return found == facts.place.integers.end() ? std::nullopt : std::optional(found->second);
}

inline std::string place_text(const RunFacts& facts, const std::string& name) {
  const auto found = facts.place.texts.find(name);
  return found == facts.place.texts.end() ? "" : found->second;
}

}  // namespace runner
