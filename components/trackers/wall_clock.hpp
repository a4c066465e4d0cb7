#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

namespace runner {

// Seconds since 1970.
inline double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

inline std::int64_t milliseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1000); }

// "20261116_143000", in UTC, so that it does not depend on the time zone.
inline std::string time_for_name(double seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d_%H%M%S", &parts);
  return text;
}

}  // namespace runner
