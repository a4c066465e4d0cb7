#include "runner/recipe/stray_variables.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace runner {

namespace {

constexpr std::string_view prefix = "RUNNER_";
constexpr std::string_view separator = "__";

// Variables with another meaning: where plugins are, what `runner launch` tells its processes, and those of
// the build and the tests.
constexpr std::array known{std::string_view("RUNNER_PLUGIN_PATH"), std::string_view("RUNNER_RANK"),
                           std::string_view("RUNNER_WORLD_SIZE"),  std::string_view("RUNNER_LOCAL_RANK"),
                           std::string_view("RUNNER_LOCAL_SIZE"),  std::string_view("RUNNER_STORE"),
                           std::string_view("RUNNER_RESTART"),     std::string_view("RUNNER_SECRET_FD"),
                           std::string_view("RUNNER_SECRET_FILE"), std::string_view("RUNNER_FOLDER"),
                           std::string_view("RUNNER_BINARY"),      std::string_view("RUNNER_BINARY_DIR"),
                           std::string_view("RUNNER_SOURCE_DIR"),  std::string_view("RUNNER_TEST_DATA"),
                           std::string_view("RUNNER_THOROUGH"),    std::string_view("RUNNER_UPDATE_GOLDENS")};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string variable_for(std::string_view path) {
  std::string name(prefix);
  for (const char c : path) name += c == '.' ? std::string(separator) : std::string(1, upper(c));
  return name;
}

// Every setting that the rest of a name may mean: each underscore may be the dot, or the section is missing.
std::vector<std::string> meant_settings(std::string rest, const SchemaPath& schema, const Value& tree) {
  std::ranges::transform(rest, rest.begin(), lower);
  for (std::size_t at = rest.find('_'); at != std::string::npos; at = rest.find('_', at + 1)) {
    const std::string path = rest.substr(0, at) + "." + rest.substr(at + 1);
    if (schema.find(tree, path)) return {path};
  }
  return schema.settings_named(tree, rest);
}

}  // namespace

void warn_of_stray_variables(const std::map<std::string, std::string>& environment, const SchemaPath& schema,
                             const Value& tree, Diagnostics& diagnostics) {
  for (const auto& [name, text] : environment) {
    const bool sets = name.find(separator, prefix.size()) != std::string::npos;
    if (!name.starts_with(prefix) || sets || std::ranges::find(known, name) != known.end()) continue;
    std::vector<std::string> hints;
    for (const std::string& path : meant_settings(name.substr(prefix.size()), schema, tree))
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
