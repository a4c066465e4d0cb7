#pragma once

#include <stdexcept>
#include <string>

#include "registry/base/utf8.hpp"

namespace runner {

// Data is missing or damaged: the message names the file and says what to do.
struct DataError : std::runtime_error {
  explicit DataError(const std::string& message) : std::runtime_error(without_nul(message)) {}
};

}  // namespace runner
