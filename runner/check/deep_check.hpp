#pragma once

#include "registry/registry.hpp"
#include "registry/value.hpp"

namespace runner {

// Checks that need the components themselves: passes two examples through model, loss, metrics and hooks. The
// examples come from the data if it is on this machine; otherwise they are zeros. `resolved` is a complete,
// conformed recipe. Throws if something does not fit.
void check_deeply(const Value& resolved, const Registry& registry);

}  // namespace runner
