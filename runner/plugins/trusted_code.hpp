#pragma once

#include <string>
#include <vector>

#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"
#include "runner/plugins/trusted_places.hpp"

namespace runner {

// A setting that names a file of code, such as a TorchScript module: "model.file".
struct CodeSetting {
  std::string key;
  Value* value = nullptr;  // an absolute path
};
std::vector<CodeSetting> code_settings(Value& resolved, const Schema& schema, const Registry& registry);

// The same rule as for plugins: a file named in a recipe must be in a trusted place, symlinks resolved; one
// that the user types may be anywhere.
void require_trusted_code(Value& resolved, const Schema& schema, const Registry& registry,
                          const TrustedPlaces& trusted, Diagnostics& diagnostics);

}  // namespace runner
