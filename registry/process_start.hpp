#pragma once

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace runner {

// When a process started, in clock ticks since the machine did: with its number, this tells it from every
// other process. `process` is a number or "self". Empty: there is no such process, or the system does not
// say.
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
