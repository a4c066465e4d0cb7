#pragma once

#include <string>
#include <string_view>

#include "registry/recipe_error.hpp"

namespace runner {

// While one exists, this thread is building a component. If the component calls exit(), which would end the
// program silently, a message names it.
class BuildScope {
 public:
  BuildScope(std::string_view kind, std::string_view name);  // "model", "mlp"
  ~BuildScope();
  BuildScope(const BuildScope&) = delete;
  BuildScope& operator=(const BuildScope&) = delete;

  const std::string& component() const { return component_; }  // model "mlp"
  RecipeError failure(const Origin& origin, const std::string& reason) const;

 private:
  std::string component_;
  const BuildScope* outer_;
};

// The type of the exception that is being handled, such as "int".
std::string thrown_type();

}  // namespace runner
