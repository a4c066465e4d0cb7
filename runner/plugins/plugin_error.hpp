#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace runner {

// A plugin that cannot be used: a sentence that names it, and what to do about it.
struct PluginError : std::runtime_error {
  explicit PluginError(const std::string& message, std::vector<std::string> hints_ = {})
      : std::runtime_error(message), hints(std::move(hints_)) {}

  std::vector<std::string> hints;
};

}  // namespace runner
