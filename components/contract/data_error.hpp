#pragma once

#include <stdexcept>

namespace runner {

// Data that is missing or broken: the message names the file and says what to do.
struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace runner
