#pragma once

#include <optional>

#include "registry/field_report.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// A single value (a flag, a number, a text ..) as its field wants it, or nothing where it cannot be that.
std::optional<Value> conform_leaf(const Value& value, const TypeInfo& type, const FieldReport& report);

}  // namespace runner
