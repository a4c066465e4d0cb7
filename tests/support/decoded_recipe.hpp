// A recipe of a test's own, resolved and decoded as a run does it.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "runner/recipe/recipe.hpp"
#include "runner/resolve/resolve.hpp"
#include "tests/support/recipes.hpp"

namespace runner::testing {

inline Recipe decoded_recipe(const Recipes& files, std::vector<std::string> overrides = {}) {
  Registry registry = Registry::of_linked();
  Diagnostics found;
  const auto resolved =
      resolve_recipe({files.folder / "main.toml", {}, std::move(overrides)}, registry, found);
  if (!resolved) throw std::invalid_argument(render(found));
  return decode_table<Recipe>(*resolved, registry);
}

}  // namespace runner::testing
