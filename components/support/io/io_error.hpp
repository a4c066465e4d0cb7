#pragma once

#include <stdexcept>

namespace runner {

// A file or a transfer that is missing, broken or refused: the message is a sentence that names it.
struct IoError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace runner
