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

// Where settings come from, lowest first: the file and what it extends, the environment, the command line.
struct RecipeSources {
  std::filesystem::path file;
  std::map<std::string, std::string> environment =
      {};  // all of it: RUNNER_SECTION__KEY sets, ${env:NAME} reads
  std::vector<std::string> overrides = {};
  // Messages do not show lines with one of these words: before the text is parsed, it is not known what is
  // secret.
  std::vector<std::string> secret_words = {"token", "password", "secret", "api_key"};
};

// The default of a key that is not in the recipe, for references to it; called with the tree so far.
using DefaultOf = std::function<std::optional<Value>(const Value& tree, std::string_view path)>;

// Text to one tree: inherited, overridden, references filled in; every value knows where it came from.
// Returns nothing if the text cannot be parsed; the diagnostics say why.
std::optional<Value> load_recipe(const RecipeSources& sources, const DefaultOf& default_of,
                                 Diagnostics& diagnostics);

}  // namespace runner
