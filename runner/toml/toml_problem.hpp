#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace runner {

// Explains what is wrong with a TOML text, and how to fix it.
struct TomlProblem {
  std::string message;
  std::vector<std::string> hints;
  std::size_t offset = 0, length = 1;
};

// Based on the parser's message and the offset at which it stopped.
TomlProblem explain_toml_error(std::string_view description, std::string_view text, std::size_t offset);

}  // namespace runner
