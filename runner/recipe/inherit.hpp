#pragma once

#include <filesystem>
#include <optional>

#include "registry/diagnostics.hpp"
#include "registry/value.hpp"

namespace runner {

// A file with everything it extends merged below it. Each file is a layer of its own: `next_layer` is counted
// on, so that what is read later wins.
std::optional<Value> load_inherited(const std::filesystem::path& file, int& next_layer,
                                    Diagnostics& diagnostics);

}  // namespace runner
