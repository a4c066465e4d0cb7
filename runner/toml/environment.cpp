#include "runner/toml/environment.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "registry/base/ascii.hpp"
#include "runner/toml/nesting.hpp"
#include "runner/toml/setting.hpp"
#include "runner/toml/setting_value.hpp"

namespace runner {

namespace {

constexpr std::string_view prefix = "RUNNER_";
constexpr std::string_view separator = "__";

// Variables with another meaning: where plugins are, what `runner launch` passes to its processes, and those
// of the build and the tests.
constexpr std::array known{
    std::string_view("RUNNER_PLUGIN_PATH"),   std::string_view("RUNNER_RANK"),
    std::string_view("RUNNER_WORLD_SIZE"),    std::string_view("RUNNER_LOCAL_RANK"),
    std::string_view("RUNNER_LOCAL_SIZE"),    std::string_view("RUNNER_STORE"),
    std::string_view("RUNNER_RESTART"),       std::string_view("RUNNER_SECRET_FD"),
    std::string_view("RUNNER_SECRET_FILE"),   std::string_view("RUNNER_FOLDER"),
    std::string_view("RUNNER_BINARY"),        std::string_view("RUNNER_BINARY_DIR"),
    std::string_view("RUNNER_SOURCE_DIR"),    std::string_view("RUNNER_TEST_DATA"),
    std::string_view("RUNNER_THOROUGH"),      std::string_view("RUNNER_UPDATE_GOLDENS"),
    std::string_view("RUNNER_LAUNCHER_START")};

bool sets_a_key(std::string_view name) {
  return name.starts_with(prefix) && name.find(separator, prefix.size()) != std::string_view::npos;
}

KeyPath path_of(std::string_view name) {
  KeyPath path;
  for (std::size_t start = prefix.size(); start <= name.size();) {
    const std::size_t end = std::min(name.find(separator, start), name.size());
    path.parts.push_back({ascii_lower(name.substr(start, end - start)), start, end - start});
    start = end + separator.size();
  }
  return path;
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string variable_for(std::string_view path) {
  std::string name(prefix);
  for (const char c : path) name += c == '.' ? std::string(separator) : std::string(1, upper(c));
  return name;
}

// All settings that the name may mean: one of its underscores stands for the dot, or the section is missing.
std::vector<std::string> meant_settings(std::string_view name, const SchemaPath& schema, const Value& tree) {
  const std::string rest = ascii_lower(name.substr(prefix.size()));
  for (std::size_t at = rest.find('_'); at != std::string::npos; at = rest.find('_', at + 1)) {
    const std::string path = rest.substr(0, at) + "." + rest.substr(at + 1);
    if (schema.find(tree, path)) return {path};
  }
  return schema.settings_named(tree, rest);
}

}  // namespace

void apply_environment(const std::map<std::string, std::string>& environment, int layer, Value& tree,
                       const DefaultOf& default_of, Diagnostics& diagnostics) {
  for (const auto& [name, text] : environment) {
    if (!sets_a_key(name)) continue;
    Setting setting{.path = path_of(name), .layer = layer};
    setting.source = std::make_shared<Source>(Source{Source::Kind::environment, name, name + "=" + text});
    const bool spells_key = std::ranges::all_of(
        setting.path.parts, [](const KeyPath::Part& part) { return key_to_toml(part.text) == part.text; });
    if (!spells_key || setting.path.parts.size() > deepest_nesting) {
      diagnostics.error({setting.source, 1, 1, static_cast<std::uint32_t>(name.size()), layer},
                        "the variable's name does not spell a key",
                        {"RUNNER_OPTIMIZER__LR sets optimizer.lr; two underscores stand for the dot"});
      continue;
    }
    auto value = parse_setting_value(setting.source, name.size() + 1, layer, diagnostics);
    if (!value) continue;
    setting.value = std::move(*value);
    apply_setting(std::move(setting), tree, default_of, diagnostics);
  }
}

void warn_of_stray_variables(const std::map<std::string, std::string>& environment, const SchemaPath& schema,
                             const Value& tree, Diagnostics& diagnostics) {
  for (const auto& [name, text] : environment) {
    if (!name.starts_with(prefix) || sets_a_key(name) || std::ranges::find(known, name) != known.end())
      continue;
    std::vector<std::string> hints;
    for (const std::string& path : meant_settings(name, schema, tree))
      hints.push_back("did you mean " + variable_for(path) + "?");
    if (hints.empty())
      hints.push_back("RUNNER_OPTIMIZER__LR sets optimizer.lr: two underscores stand for the dot");
    // Without its value, which may be a secret.
    const auto source = std::make_shared<Source>(Source{Source::Kind::environment, name, name + "=.."});
    diagnostics.warning({source, 1, 1, static_cast<std::uint32_t>(name.size()), 0},
                        "the environment variable " + name + " has no effect", std::move(hints));
  }
}

}  // namespace runner
