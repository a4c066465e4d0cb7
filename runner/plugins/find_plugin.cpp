#include "runner/plugins/find_plugin.hpp"

#include <algorithm>

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/sha256.hpp"
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
  std::vector<std::string> hints, names, looked;
  for (const fs::path& folder : folders) {
    looked.push_back((folder.empty() ? fs::path(".") : folder).string());
    for (const fs::path& library : libraries_in(folder.empty() ? "." : folder))
      names.push_back(library.filename().string());
  }
  if (const auto meant = nearest(name, names)) hints.push_back("did you mean " + in_quotes(*meant) + "?");
  hints.push_back("looked in: " + joined(looked));
  hints.push_back(
      "--plugin FILE loads one from elsewhere, and RUNNER_PLUGIN_PATH names more folders to look in");
  throw PluginError("there is no plugin " + in_quotes(name), std::move(hints));
}

[[noreturn]] void not_trusted(const std::string& name, const std::string& why, const fs::path& remedy) {
  throw PluginError("the recipe names the plugin " + in_quotes(name) + why,
                    trust_hints("--plugin " + remedy.string()));
}

// Code in the folder of a recipe came with it: it runs only after the user has said so.
void require_trust(const std::string& name, const fs::path& file, const TrustedPlaces& places) {
  if (places.named_by_user(file) || places.list.plugin(file, sha256_of_file(file))) return;
  const bool changed = places.list.other_build_of(file);
  throw PluginError(
      "the recipe loads the plugin " + in_quotes(name) +
          (changed ? ", which has changed since you trusted it" : ", code that you have not trusted yet"),
      {"a plugin can do all that you can do; if you trust this one, say so once: runner plugin trust " +
           shown_message(file.string()),
       "or for one command: --plugin " + shown_message(file.string())});
}

}  // namespace

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

fs::path find_plugin(const std::string& name, const Origin& written, const TrustedPlaces& trusted) {
  const fs::path wanted(name);
  // A file given by the user replaces any plugin with the same file name.
  for (const fs::path& entry : trusted.plugin_path) {
    for (const fs::path& spelling : spellings(wanted)) {
      if (!is_folder(entry) && entry.filename() == spelling.filename()) return entry;
    }
  }
  const bool by_recipe = written_by_recipe(written);
  const fs::path own_folder = by_recipe ? fs::path(written.source->name).parent_path() : fs::path();
  if (by_recipe && wanted.is_absolute()) not_trusted(name, ", an absolute path", wanted);
  if (by_recipe && std::ranges::find(wanted, "..") != wanted.end())
    not_trusted(name, ", which is outside the recipe's folder", own_folder / wanted);
  std::vector<fs::path> folders{own_folder};
  std::ranges::copy_if(trusted.plugin_path, std::back_inserter(folders), is_folder);
  for (const fs::path& folder : folders) {
    for (const fs::path& spelling : spellings(wanted)) {
      const fs::path file = folder / spelling, shown_folder = folder.empty() ? "." : folder;
      if (!is_file(file)) continue;
      if (!by_recipe) return file;
      if (trusted.hold(file)) {
        require_trust(name, file, trusted);
        return file;
      }
      not_trusted(name,
                  lies_inside(file, shown_folder)
                      ? " in " + written.source->name + ", which is outside the recipe's folder"
                      : ", a symlink that points outside " + shown_folder.string(),
                  fs::canonical(file));
    }
  }
  not_found(name, folders);
}

}  // namespace runner
