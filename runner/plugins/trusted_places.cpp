#include "runner/plugins/trusted_places.hpp"

#include <algorithm>
#include <sstream>

namespace runner {

namespace fs = std::filesystem;

std::vector<fs::path> plugin_path(const std::map<std::string, std::string>& environment) {
  std::vector<fs::path> path;
  const auto variable = environment.find(plugin_path_variable);
  if (variable == environment.end()) return path;
  std::istringstream entries(variable->second);
  for (std::string entry; std::getline(entries, entry, ':');) {
    if (!entry.empty()) path.emplace_back(entry);
  }
  return path;
}

bool TrustedPlaces::named_by_user(const fs::path& file) const {
  return std::ranges::any_of(plugin_path, [&](const fs::path& entry) { return lies_inside(file, entry); });
}

bool TrustedPlaces::hold(const fs::path& file) const {
  return lies_inside(file, recipe_folder.empty() ? "." : recipe_folder) || named_by_user(file);
}

TrustedPlaces trusted_places(const fs::path& recipe, const std::map<std::string, std::string>& environment) {
  return {recipe.parent_path(), plugin_path(environment), Trusted(environment)};
}

bool written_by_recipe(const Origin& written) {
  return written.source && written.source->kind == Source::Kind::file;
}

std::vector<std::string> trust_hints(const std::string& remedy) {
  return {"a recipe can only load code from its own folder or from RUNNER_PLUGIN_PATH",
          "if you trust it: " + remedy};
}

bool lies_inside(const fs::path& file, const fs::path& folder) {
  std::error_code no_file, no_folder;
  const fs::path real = fs::canonical(file, no_file), base = fs::canonical(folder, no_folder);
  return !no_file && !no_folder &&
         std::mismatch(base.begin(), base.end(), real.begin(), real.end()).first == base.end();
}

}  // namespace runner
