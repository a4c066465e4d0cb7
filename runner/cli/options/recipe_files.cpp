#include "runner/cli/options/recipe_files.hpp"

#include <algorithm>

#include "registry/base/suggest.hpp"
#include "runner/cli/options/data_folders.hpp"
#include "runner/plugins/find_plugin.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view extension = ".toml";

std::vector<std::string> recipes_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unreadable;
    if (name.ends_with(extension) && !name.starts_with('.') && entry->is_regular_file(unreadable))
      names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// The recipes of a plugin are in a folder recipes/ next to it.
std::vector<fs::path> recipe_folders(const std::map<std::string, std::string>& environment) {
  std::vector<fs::path> folders{"recipes"};
  for (const fs::path& entry : plugin_path(environment)) {
    std::error_code error;
    folders.push_back((fs::is_directory(entry, error) ? entry : entry.parent_path()) / "recipes");
  }
  for (fs::path& folder : data_folders("recipes")) folders.push_back(std::move(folder));
  return folders;
}

}  // namespace

bool looks_like_recipe(const std::string& word) {
  return word.ends_with(extension) || word.find('/') != std::string::npos;
}

std::optional<std::string> nearest_recipe(const std::string& missing) {
  const fs::path path(missing);
  const std::string wanted = path.filename().string();
  for (const fs::path& folder : {path.parent_path(), fs::path("recipes")}) {
    const auto meant = nearest(wanted, recipes_in(folder.empty() ? "." : folder));
    if (meant) return (folder / *meant).string();
  }
  return std::nullopt;
}

std::optional<fs::path> known_recipe(const std::string& name,
                                     const std::map<std::string, std::string>& environment) {
  const bool safe = !name.empty() && !name.starts_with('/') && name.find("..") == std::string::npos;
  if (!safe) return std::nullopt;
  for (const fs::path& folder : recipe_folders(environment)) {
    std::error_code error;
    const fs::path file = folder / (name + std::string(extension));
    if (fs::is_regular_file(file, error)) return file.lexically_normal();
  }
  return std::nullopt;
}

std::optional<fs::path> find_recipe(const std::string& word,
                                    const std::map<std::string, std::string>& environment) {
  std::error_code ignored;
  const bool exists = fs::exists(word, ignored);
  if (exists && !fs::is_directory(word, ignored)) return word;
  if (const auto known = known_recipe(word, environment)) return known;
  return exists ? std::optional<fs::path>(word) : std::nullopt;
}

std::vector<std::string> known_recipes(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> names;
  for (const fs::path& folder : recipe_folders(environment)) {
    for (const std::string& file : recipes_in(folder)) names.push_back(fs::path(file).stem().string());
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

RecipesAndOverrides sort_words(const std::vector<std::string>& words) {
  RecipesAndOverrides sorted;
  for (const std::string& word : words) {
    std::error_code error;
    const bool is_override =
        !fs::exists(word, error) && (word.starts_with("~") || word.find('=') != std::string::npos);
    (is_override ? sorted.overrides : sorted.recipes).push_back(word);
  }
  return sorted;
}

}  // namespace runner::cli
