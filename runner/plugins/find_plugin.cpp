#include "runner/plugins/find_plugin.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include "registry/suggest.hpp"
#include "runner/plugins/plugin_error.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view ending = ".so";

// "my_model" is what CMake calls the target; the file is libmy_model.so.
std::vector<fs::path> spellings(const fs::path& name) {
  std::vector<fs::path> all{name};
  if (name.extension() != ending)
    all.push_back(name.parent_path() / ("lib" + name.filename().string() + std::string(ending)));
  return all;
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool inside(const fs::path& file, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error), base = fs::canonical(folder, error);
  return !error && std::mismatch(base.begin(), base.end(), real.begin(), real.end()).first == base.end();
}

std::vector<fs::path> libraries_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ending && is_file(entry->path())) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

[[noreturn]] void not_found(const std::string& name, const std::vector<fs::path>& folders) {
  std::vector<std::string> hints, names;
  std::string looked;
  for (const fs::path& folder : folders) {
    looked += (looked.empty() ? "" : ", ") + (folder.empty() ? fs::path(".") : folder).string();
    for (const fs::path& library : libraries_in(folder.empty() ? "." : folder))
      names.push_back(library.filename().string());
  }
  if (const auto meant = nearest(name, names)) hints.push_back("did you mean \"" + *meant + "\"?");
  hints.push_back("looked in: " + looked);
  hints.push_back(
      "--plugin FILE loads one from elsewhere, and RUNNER_PLUGIN_PATH names more folders to look in");
  throw PluginError("there is no plugin \"" + name + "\"", std::move(hints));
}

[[noreturn]] void not_trusted(const std::string& name, const std::string& why, const fs::path& remedy) {
  throw PluginError("the recipe names the plugin \"" + name + "\", " + why,
                    {"a recipe can only load what lies in its own folder or on RUNNER_PLUGIN_PATH",
                     "if you trust it: --plugin " + remedy.string()});
}

}  // namespace

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

std::vector<fs::path> plugins_on_path(const std::vector<fs::path>& path) {
  std::vector<fs::path> all;
  for (const fs::path& entry : path) {
    if (is_folder(entry)) {
      for (fs::path& library : libraries_in(entry)) all.push_back(std::move(library));
    } else {
      all.push_back(entry);
    }
  }
  return all;
}

fs::path find_plugin(const std::string& name, const Origin& written, const std::vector<fs::path>& path) {
  const bool from_file = written.source && written.source->kind == Source::Kind::file;
  const fs::path wanted(name);
  // A file that the user named stands for every file of that name.
  for (const fs::path& entry : path) {
    for (const fs::path& spelling : spellings(wanted)) {
      if (!is_folder(entry) && entry.filename() == spelling.filename()) return entry;
    }
  }
  const fs::path own_folder = from_file ? fs::path(written.source->name).parent_path() : fs::path();
  if (from_file && wanted.is_absolute()) not_trusted(name, "an absolute path", wanted);
  if (from_file && std::ranges::find(wanted, "..") != wanted.end())
    not_trusted(name, "which leads out of its folder", own_folder / wanted);
  std::vector<fs::path> folders{own_folder};
  std::ranges::copy_if(path, std::back_inserter(folders), is_folder);
  for (const fs::path& folder : folders) {
    for (const fs::path& spelling : spellings(wanted)) {
      const fs::path file = folder / spelling;
      if (!is_file(file)) continue;
      if (from_file && !inside(file, folder.empty() ? "." : folder))
        not_trusted(name, "a link that leads out of " + (folder.empty() ? "." : folder).string(),
                    fs::canonical(file));
      return file;
    }
  }
  not_found(name, folders);
}

}  // namespace runner
