#pragma once

#include <stdexcept>
#include <string>

#include "registry/base/utf8.hpp"

namespace runner {

// A file or a transfer is missing, damaged or refused: the message is a sentence that names it.
struct IoError : std::runtime_error {
  explicit IoError(const std::string& message) : std::runtime_error(without_nul(message)) {}
};

}  // namespace runner
