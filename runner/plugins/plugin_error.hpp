#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace runner {

// A plugin cannot be used. The message names it; the hints say what to do.
struct PluginError : std::runtime_error {
  explicit PluginError(const std::string& message, std::vector<std::string> hints_ = {})
      : std::runtime_error(message), hints(std::move(hints_)) {}

  std::vector<std::string> hints;
};

}  // namespace runner
