#include "runner/plugins/keep_plugins.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "components/support/io/sha256.hpp"
#include "registry/log.hpp"
#include "runner/recipe.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

// Goes through a resolved recipe with its schema and meets every component it names.
class UsedLibraries {
 public:
  explicit UsedLibraries(const Registry& registry) : registry_(registry) {}

  void table(const Value& value, const Schema& schema) {
    for (const FieldInfo& field : schema.fields) {
      if (const Value* member = value.as<Table>()->find(field.name)) any(*member, field.type);
    }
  }

  std::vector<const Descriptor*> components;  // of libraries

 private:
  void any(const Value& value, const TypeInfo& type) {
    if (const auto* list = value.as<Array>()) {
      for (const Value& item : *list) any(item, *type.element);
    } else if (type.kind == TypeInfo::Kind::map) {
      for (const Member& member : *value.as<Table>()) any(member.value, *type.element);
    } else if (type.kind == TypeInfo::Kind::table) {
      table(value, type.schema());
    } else if (type.kind == TypeInfo::Kind::part) {
      const std::string& name = *value.as<Table>()->find("name")->as<std::string>();
      const Descriptor& descriptor = find_component(registry_, type.part_kind, name);
      const bool is_new = std::ranges::find(components, &descriptor) == components.end();
      if (descriptor.library && is_new) components.push_back(&descriptor);
      table(value, descriptor.schema());
    }
  }

  const Registry& registry_;
};

// A run that is continued has a copy already, which may be the very file that is loaded; several ranks may
// copy at once. So a copy is only ever replaced whole.
std::string copy_into(const RunFolder& folder, const Library& library) {
  const std::string name = "plugins/" + fs::path(library.path).filename().string();
  const fs::path copy = folder.file(name);
  const bool there = fs::exists(copy);
  if (there && sha256_of_file(copy) == library.sha256) return name;
  if (there)
    log::warning("The run goes on with another build of the plugin {} than it began with.", library.path);
  fs::create_directories(copy.parent_path());
  const fs::path unfinished = copy.string() + "." + std::to_string(getpid()) + ".part";
  fs::copy_file(library.path, unfinished, fs::copy_options::overwrite_existing);
  const bool same = sha256_of_file(unfinished) == library.sha256;
  if (same) fs::rename(unfinished, copy);
  if (same) return name;
  fs::remove(unfinished);
  throw std::runtime_error("the plugin " + library.path + " was changed while the run began; start it again");
}

}  // namespace

Value keep_plugins(Value resolved, const Registry& registry, const RunFolder& folder) {
  UsedLibraries used(registry);
  used.table(resolved, schema_of<Recipe>());
  Array names;
  nlohmann::ordered_json kept = nlohmann::ordered_json::array();
  for (const Library* library : registry.libraries()) {
    nlohmann::ordered_json components = nlohmann::ordered_json::array();
    for (const Descriptor* descriptor : used.components) {
      if (descriptor->library == library)
        components.push_back(std::string(descriptor->kind->name) + " " + pinned_name(*descriptor));
    }
    if (components.empty()) continue;
    const std::string name = copy_into(folder, *library);
    log::info("Plugin {}, sha256 {}", library->path, library->sha256);
    names.push_back(Value(Value::Data(name)));
    kept.push_back(
        {{"file", name}, {"from", library->path}, {"sha256", library->sha256}, {"components", components}});
  }
  if (!kept.empty()) folder.write("plugins.json", kept.dump(2) + "\n");
  resolved.as<Table>()->set("plugins", Value(Value::Data(std::move(names))));
  return resolved;
}

}  // namespace runner
