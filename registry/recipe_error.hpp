#pragma once

#include <stdexcept>
#include <string>

#include "registry/diagnostics.hpp"
#include "registry/origin.hpp"

namespace runner {

// An error in the recipe that is found only when its components are built or combined. It has a place in the
// recipe, like the errors that `check` finds.
struct RecipeError : std::runtime_error {
  RecipeError(Origin where, const std::string& message)
      : std::runtime_error(message), origin(std::move(where)) {}

  Origin origin;
};

// The error as `check` would report it: the first line of its message is the message, further lines are
// hints.
Diagnostic diagnostic_of(const RecipeError& error);

}  // namespace runner
