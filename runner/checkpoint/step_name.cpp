#include "runner/checkpoint/step_name.hpp"

#include <charconv>
#include <cstdio>

namespace runner {

namespace {

constexpr std::string_view prefix = "step-";

}  // namespace

std::string step_name(std::int64_t step) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%08lld", static_cast<long long>(step));
  return std::string(prefix) + digits;
}

std::optional<std::int64_t> step_of_name(std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::int64_t step = 0;
  std::from_chars(name.data() + prefix.size(), name.data() + name.size(), step);
  return step >= 0 && step_name(step) == name ? std::optional(step) : std::nullopt;
}

}  // namespace runner
