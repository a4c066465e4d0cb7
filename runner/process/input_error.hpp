#pragma once

#include <stdexcept>

namespace runner {

// A mistake in what the user typed, such as a run that does not exist: the program ends with the exit code
// for bad input, not with that for a failure.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace runner
