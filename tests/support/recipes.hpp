// Recipe files of a test's own, loaded as a user's would be.
#pragma once

#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/toml/load.hpp"
#include "runner/toml/parse.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trees.hpp"

namespace runner::testing {

class Recipes {
 public:
  Recipes() = default;
  explicit Recipes(const std::string& main) { write("main.toml", main); }

  Recipes& write(const std::string& name, const std::string& content) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << content;
    return *this;
  }

  // The tree, or an empty one where there is none: `said` tells why.
  Value load(std::vector<std::string> overrides = {}, const std::string& name = "main.toml") {
    Diagnostics diagnostics;
    const std::optional<Value> tree =
        load_recipe({folder / name, environment, std::move(overrides)}, default_of, diagnostics);
    said = without_folder(render(diagnostics));
    if (tree.has_value() != diagnostics.ok()) throw std::logic_error("a tree and errors at once, or neither");
    return tree.value_or(Value());
  }

  std::string complaint(std::vector<std::string> overrides = {}) {
    load(std::move(overrides));
    return said;
  }

  std::string without_folder(std::string text) const {
    const std::string prefix = folder.path().string() + "/";
    for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
      text.erase(at, prefix.size());
    return text;
  }

  TemporaryFolder folder;
  std::map<std::string, std::string> environment;
  DefaultOf default_of;
  std::string said;
};

// The tree of a text, or what is wrong with it, thrown.
inline Value parsed(const std::string& content) {
  Diagnostics diagnostics;
  auto tree = parse_toml(content, file("r.toml", content), 0, diagnostics);
  if (!tree) throw std::invalid_argument(render(diagnostics));
  return std::move(*tree);
}

}  // namespace runner::testing
