#pragma once

#include <map>
#include <string>
#include <string_view>

namespace runner {

// Colours text for terminals; for files and other programs, texts stay plain.
struct Style {
  bool colour = false;

  std::string bold(std::string_view text) const { return painted("1", text); }
  std::string dim(std::string_view text) const { return painted("2", text); }
  std::string red(std::string_view text) const { return painted("31", text); }
  std::string green(std::string_view text) const { return painted("32", text); }
  std::string yellow(std::string_view text) const { return painted("33", text); }
  std::string cyan(std::string_view text) const { return painted("36", text); }

 private:
  std::string painted(std::string_view code, std::string_view text) const;
};

// With colours if the descriptor is a terminal that can show them, unless NO_COLOR is set and not empty.
Style style_of(int file_descriptor, const std::map<std::string, std::string>& environment);

}  // namespace runner
