#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace runner::cli {

bool looks_like_recipe(const std::string& word);  // judged by its spelling; it need not exist

// The recipe file whose name is nearest to one that does not exist.
std::optional<std::string> nearest_recipe(const std::string& missing);

// Recipes that can be run by name ("cifar10"): those in ./recipes, in recipes/ next to the plugins on the
// plugin path, and those that come with the program.
std::optional<std::filesystem::path> known_recipe(const std::string& name,
                                                  const std::map<std::string, std::string>& environment);
std::vector<std::string> known_recipes(const std::map<std::string, std::string>& environment);

// The file that a word on the command line means: the one with this path, or the recipe with this name, even
// if there is a folder that is called the same. Nothing if there is none of these.
std::optional<std::filesystem::path> find_recipe(const std::string& word,
                                                 const std::map<std::string, std::string>& environment);

// Splits the words after a command into recipes and overrides; an existing file is a recipe, whatever its
// name.
struct RecipesAndOverrides {
  std::vector<std::string> recipes = {};
  std::vector<std::string> overrides = {};
};
RecipesAndOverrides sort_words(const std::vector<std::string>& words);

}  // namespace runner::cli
