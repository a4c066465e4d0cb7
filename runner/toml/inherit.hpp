#pragma once

#include <filesystem>
#include <optional>

#include "registry/diagnostics.hpp"
#include "registry/value.hpp"

namespace runner {

// A file merged over all files that it extends. Each file is a layer of its own, numbered from `next_layer`
// on; higher layers win. `next_layer` becomes the next free number.
std::optional<Value> load_inherited(const std::filesystem::path& file, int& next_layer,
                                    Diagnostics& diagnostics);

}  // namespace runner
