#pragma once

#include <optional>
#include <string_view>

#include "registry/value.hpp"

namespace runner {

// A word without quotes as TOML reads it: true, 12, 0x1F, 1_000, -2.5e3, inf, 2026-01-31. None: it is just a
// word.
std::optional<Value::Data> typed_scalar(std::string_view word);

}  // namespace runner
