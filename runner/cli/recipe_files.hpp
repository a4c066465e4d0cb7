#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace runner::cli {

bool looks_like_recipe(const std::string& word);  // by its spelling: it may well not exist

// The recipe file whose name is nearest to one that does not exist.
std::optional<std::string> nearest_recipe(const std::string& missing);

// Recipes that are called by name ("cifar10"): in recipes/ here, in recipes/ beside the plugins of the plugin
// path, and those that come with the program.
std::optional<std::filesystem::path> known_recipe(const std::string& name,
                                                  const std::map<std::string, std::string>& environment);
std::vector<std::string> known_recipes(const std::map<std::string, std::string>& environment);

// Splits what follows a command into recipes and overrides; a file that exists is a recipe, whatever it is
// called.
struct RecipesAndOverrides {
  std::vector<std::string> recipes = {};
  std::vector<std::string> overrides = {};
};
RecipesAndOverrides sort_words(const std::vector<std::string>& words);

}  // namespace runner::cli
