#pragma once

#include <stdexcept>
#include <string>

#include "registry/origin.hpp"

namespace runner {

// A mistake in the recipe that shows only when its parts are built or meet each other: told with its place,
// as what `check` finds is.
struct RecipeError : std::runtime_error {
  RecipeError(Origin where, const std::string& message)
      : std::runtime_error(message), origin(std::move(where)) {}

  Origin origin;
};

}  // namespace runner
