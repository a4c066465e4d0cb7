#pragma once

#include <memory>
#include <optional>
#include <string>

#include "registry/diagnostics.hpp"
#include "registry/origin.hpp"
#include "registry/value.hpp"

namespace runner {

// The value after the = of an argument, or of a variable: TOML, or a bare word, which is a string. Keeps the
// original text too, because a key of type string takes it unchanged: run.name=007.
std::optional<Value> parse_setting_value(const std::shared_ptr<const Source>& source, std::size_t offset,
                                         int layer, Diagnostics& diagnostics);

}  // namespace runner
