#pragma once

#include "registry/registry.hpp"
#include "registry/value.hpp"

namespace runner {

// What only the parts themselves can tell: two examples go through model, loss, metrics and hooks. They come
// from the data where it is on this machine, and are zeros where it has yet to be downloaded. `resolved` is a
// whole, conformed recipe; throws what does not fit.
void check_deeply(const Value& resolved, const Registry& registry);

}  // namespace runner
