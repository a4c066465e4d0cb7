#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace runner::cli {

bool looks_like_recipe(const std::string& word);  // by its spelling: it may well not exist

// The recipe file whose name is nearest to one that does not exist.
std::optional<std::string> nearest_recipe(const std::string& missing);

// Recipes that come with the program, by name ("cifar10"): in recipes/ here, in the source tree it was built
// from, or where it was installed.
std::optional<std::filesystem::path> shipped_recipe(const std::string& name);
std::vector<std::string> shipped_recipes();

// Splits what follows a command into recipes and overrides; a file that exists is a recipe, whatever it is
// called.
struct RecipesAndOverrides {
  std::vector<std::string> recipes = {};
  std::vector<std::string> overrides = {};
};
RecipesAndOverrides sort_words(const std::vector<std::string>& words);

}  // namespace runner::cli
