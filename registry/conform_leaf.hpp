#pragma once

#include <optional>

#include "registry/field_report.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// A single value (a flag, a number, a text ..) converted to the type of its field, or nothing if it does not
// fit.
std::optional<Value> conform_leaf(const Value& value, const TypeInfo& type, const FieldReport& report);

}  // namespace runner
