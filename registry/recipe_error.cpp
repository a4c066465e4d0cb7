#include "registry/recipe_error.hpp"

#include <sstream>

namespace runner {

Diagnostic diagnostic_of(const RecipeError& error) {
  Diagnostic diagnostic{Diagnostic::Severity::error, error.origin, "", {}, ""};
  std::istringstream lines(error.what());
  std::getline(lines, diagnostic.message);
  for (std::string line; std::getline(lines, line);) diagnostic.hints.push_back(line);
  return diagnostic;
}

}  // namespace runner
