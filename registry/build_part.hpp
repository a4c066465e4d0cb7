#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "registry/component.hpp"

namespace runner {

// While it lives, this thread builds a component. One that calls exit() would end the program without a word:
// then a message names it.
class BuildScope {
 public:
  BuildScope(std::string_view kind, std::string_view name);  // "model", "mlp"
  ~BuildScope();
  BuildScope(const BuildScope&) = delete;
  BuildScope& operator=(const BuildScope&) = delete;

  const std::string& component() const { return component_; }  // model "mlp"

 private:
  std::string component_;
  const BuildScope* outer_;
};

// The type of the exception that is being handled, such as "int".
std::string thrown_type();

// Part::build for components that somebody else may have written: whatever goes wrong becomes an exception
// that says what, and where the recipe names the component.
template <Kind K>
std::unique_ptr<typename K::Product> build_part(const Part<K>& part, const typename K::Inputs& inputs) {
  const BuildScope scope(K::name, part.name());
  try {
    if (auto product = part.build(inputs)) return product;
  } catch (const std::logic_error& error) {
    throw RecipeError(part.origin(), scope.component() + " could not be built: " + error.what());
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    throw RecipeError(part.origin(), scope.component() + " could not be built: it threw " + thrown_type() +
                                         ", which is not a std::exception and says nothing more");
  }
  throw RecipeError(part.origin(), scope.component() + " could not be built: build() returned nullptr");
}

}  // namespace runner
