#pragma once

#include <string>

#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// Holds a tree against a schema. What comes back has every known key exactly once, under its present name, in
// the schema's order, with the defaults filled in and parts written as tables; everything that is wrong is
// reported, all of it. Where nothing was, the result can be decoded.
Value conform(const Value& tree, const Schema& schema, const Registry& registry, Diagnostics& diagnostics);

}  // namespace runner
