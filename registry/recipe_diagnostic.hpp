#pragma once

#include "registry/diagnostics.hpp"
#include "registry/recipe_error.hpp"

namespace runner {

// An error that ended the work as `check` would report it: the first line of its message is the message, and
// further lines are hints.
Diagnostic diagnostic_of(const RecipeError& error);

}  // namespace runner
