#include "runner/terminal/style.hpp"

#include <unistd.h>

namespace runner {

std::string Style::painted(std::string_view code, std::string_view text) const {
  if (!colour || text.empty()) return std::string(text);
  return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
}

Style style_of(int file_descriptor, const std::map<std::string, std::string>& environment) {
  const auto no_colour = environment.find("NO_COLOR");
  if (no_colour != environment.end() && !no_colour->second.empty()) return {};
  const auto terminal = environment.find("TERM");
  if (terminal == environment.end() || terminal->second == "dumb") return {};
  return {isatty(file_descriptor) == 1};
}

}  // namespace runner
