#pragma once

#include <memory>

#include "registry/diagnostics.hpp"
#include "registry/origin.hpp"
#include "registry/value.hpp"
#include "runner/toml/key_path.hpp"
#include "runner/toml/load.hpp"

namespace runner {

// One change to the tree, from an argument or from the environment.
struct Setting {
  enum class Action { set, append, remove };

  Action action = Action::set;
  KeyPath path;
  Value value;  // none for remove
  std::shared_ptr<const Source> source;
  int layer = 0;

  Origin origin(std::size_t part) const;  // of one part of the key
};

// Changes the tree, or reports why that is not possible and leaves it unchanged.
void apply_setting(Setting setting, Value& tree, const DefaultOf& default_of, Diagnostics& diagnostics);

}  // namespace runner
