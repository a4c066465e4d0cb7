#pragma once

#include "components/datasets/dataset.hpp"
#include "registry/registry.hpp"
#include "registry/value.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Check that all ranks train the same model on the same data. Every rank calls both functions; on a
// difference all ranks throw RankError, which names what differs and on which ranks. A single rank compares
// nothing.

// Compares every setting of the recipe, versions and plugins. Call it before anything else is exchanged: what
// ranks exchange depends on these.
void require_equal_recipes(World& world, const Value& resolved, const Registry& registry);

// Once the data is open: compares the number of examples, shapes, what the dataset learnt, and some examples.
void require_equal_data(World& world, const Splits& data);

}  // namespace runner
