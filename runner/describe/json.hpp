#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// What programs read with --json. Keys are part of the interface: they are added, never renamed.
nlohmann::ordered_json to_json(const Value& value);  // without secrets
nlohmann::ordered_json to_json(const Diagnostics& diagnostics);
nlohmann::ordered_json to_json(const Schema& schema);
nlohmann::ordered_json to_json(const Descriptor& descriptor);  // with its parameters

// Readable, and valid whatever bytes a recipe held.
std::string dumped(const nlohmann::ordered_json& json);

}  // namespace runner
