#pragma once

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace runner {

// The environment variable in which `runner launch` tells its ranks, which it may restart, when it started
// itself: as process_start() does.
inline constexpr auto launcher_start_variable = "RUNNER_LAUNCHER_START";

// When a process started, in clock ticks since the machine booted: together with its id, this identifies the
// process. `process` is an id or "self". Empty: there is no such process, or the system does not say.
inline std::string process_start(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string text;
  std::getline(file, text);
  // The name of the program, in parentheses, may contain anything.
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string field;
  constexpr int after_name = 20;  // the 22nd field of all
  for (int i = 0; i < after_name; ++i)
    if (!(fields >> field)) return "";
  return field;
}

}  // namespace runner
