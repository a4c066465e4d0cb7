#pragma once

#include <memory>
#include <optional>
#include <string>

#include "registry/diagnostics.hpp"
#include "registry/origin.hpp"
#include "registry/value.hpp"

namespace runner {

// What stands after the = of an argument or in a variable: TOML, or a bare word, which is a string. Keeps
// what was typed, because a key that holds a string takes it as it is: run.name=007.
std::optional<Value> parse_setting_value(const std::shared_ptr<const Source>& source, std::size_t offset,
                                         int layer, Diagnostics& diagnostics);

}  // namespace runner
