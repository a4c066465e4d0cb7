#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "registry/diagnostics.hpp"
#include "registry/value.hpp"

namespace runner {

// Where settings come from, lowest priority first: the file and its bases, the environment, the command line.
struct RecipeSources {
  std::filesystem::path file;
  std::map<std::string, std::string> environment =
      {};  // all variables: RUNNER_SECTION__KEY sets a key, ${env:NAME} reads a value
  std::vector<std::string> overrides = {};
  // Messages do not show lines with one of these words, or with one such as "password": before the text is
  // parsed, it is not known what is secret.
  std::vector<std::string> secret_words = {};
  // The trackers of the recipe will be started: what would go to their servers needs the user's trust.
  bool sends = false;
};

// ${env:NAME}, where it is written, if the variable is set.
struct UsedVariable {
  std::string name;
  Origin origin;
};

// The default of a key that is not in the recipe, for references to it; called with the tree so far.
using DefaultOf = std::function<std::optional<Value>(const Value& tree, std::string_view path)>;

// Reads a recipe into one tree, with inheritance, overrides and references resolved. Values keep origins.
// Returns nothing if the text cannot be parsed; the diagnostics say why. Adds the variables that were read to
// `used`.
std::optional<Value> load_recipe(const RecipeSources& sources, const DefaultOf& default_of,
                                 Diagnostics& diagnostics, std::vector<UsedVariable>* used = nullptr);

}  // namespace runner
