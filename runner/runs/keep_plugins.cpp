#include "runner/runs/keep_plugins.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "registry/base/log.hpp"
#include "registry/files/sha256.hpp"
#include "runner/plugins/trusted.hpp"
#include "runner/plugins/trusted_code.hpp"
#include "runner/recipe/recipe.hpp"
#include "runner/recipe/recipe_walk.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

// Copies files into the plugins folder of the run, under their own names.
class Copies {
 public:
  explicit Copies(const RunFolder& folder) : folder_(folder) {}

  // Returns the path of the copy, relative to the folder. A copy is replaced atomically: a resumed run may
  // have loaded the existing one, and several ranks may copy at the same time.
  std::string of(const std::string& file, const std::string& sha256) {
    const std::string name = "plugins/" + fs::path(file).filename().string();
    const auto [other, is_new] = sources_.emplace(name, std::pair(file, sha256));
    if (!is_new && other->second.second != sha256)
      throw std::runtime_error("the run keeps copies of " + other->second.first + " and of " + file +
                               ", which have the same name: rename one of them");
    const fs::path copy = folder_.file(name);
    const bool exists = fs::exists(copy);
    if (exists && sha256_of_file(copy) == sha256) return name;
    if (exists) log::warning("This run continues with a different build of {} than it started with.", file);
    fs::create_directories(copy.parent_path());
    const fs::path unfinished = copy.string() + "." + std::to_string(getpid()) + ".part";
    fs::copy_file(file, unfinished, fs::copy_options::overwrite_existing);
    if (sha256_of_file(unfinished) != sha256) {
      fs::remove(unfinished);
      throw std::runtime_error(file + " changed while the run was starting; start the run again");
    }
    fs::rename(unfinished, copy);
    return name;
  }

 private:
  const RunFolder& folder_;
  std::map<std::string, std::pair<std::string, std::string>> sources_;  // file and checksum, by copy
};

std::vector<const Descriptor*> components_of_plugins(Value& resolved, const Registry& registry) {
  std::vector<const Descriptor*> used;
  RecipeVisitor visitor;
  visitor.component = [&](const Descriptor& component) {
    if (component.library && std::ranges::find(used, &component) == used.end()) used.push_back(&component);
  };
  walk_recipe(resolved, schema_of<Recipe>(), registry, visitor);
  return used;
}

// The copy has just run as the user wanted it: evaluating the run or resuming it asks for no more.
void trust_copy(const fs::path& copy, const std::string& sha256) {
  try {
    Trusted trusted = Trusted::of_process();
    if (!trusted.plugin(copy, sha256)) trusted.add_plugin(copy, sha256);
  } catch (const std::exception& error) {
    log::info("The plugin {} has to be trusted before it is used again: {}", copy.string(), error.what());
  }
}

}  // namespace

Value keep_plugins(Value resolved, const Registry& registry, const RunFolder& folder) {
  Copies copies(folder);
  for (const auto& [key, value] : code_settings(resolved, schema_of<Recipe>(), registry)) {
    const std::string file = *value->as<std::string>();
    value->data = copies.of(file, sha256_of_file(file));
  }
  const auto used = components_of_plugins(resolved, registry);
  Array names;
  nlohmann::ordered_json loaded = nlohmann::ordered_json::array();
  for (const Library* library : registry.libraries()) {
    nlohmann::ordered_json components = nlohmann::ordered_json::array();
    for (const Descriptor* descriptor : used) {
      if (descriptor->library == library)
        components.push_back(std::string(descriptor->kind->name) + " " + pinned_name(*descriptor));
    }
    log::info("Plugin {}, sha256 {}{}", library->path, library->sha256,
              components.empty() ? ": loaded, not used by this recipe" : "");
    nlohmann::ordered_json entry;
    if (!components.empty()) {
      entry["file"] = copies.of(library->path, library->sha256);
      trust_copy(folder.file(entry["file"].get<std::string>()), library->sha256);
      names.push_back(Value(Value::Data(entry["file"].get<std::string>())));
    }
    entry.update({{"from", library->path}, {"sha256", library->sha256}, {"components", components}});
    loaded.push_back(std::move(entry));
  }
  if (!loaded.empty()) folder.write("plugins.json", loaded.dump(2) + "\n");
  resolved.as<Table>()->set("plugins", Value(Value::Data(std::move(names))));
  return resolved;
}

}  // namespace runner
