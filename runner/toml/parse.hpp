#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "registry/diagnostics.hpp"
#include "registry/origin.hpp"
#include "registry/value.hpp"

namespace runner {

// TOML text as a tree: keys in the order of the text, each key and value with its place in the source.
// Returns nothing if the text is not TOML; the diagnostics say why and where.
std::optional<Value> parse_toml(std::string_view text, const std::shared_ptr<const Source>& source, int layer,
                                Diagnostics& diagnostics);

}  // namespace runner
