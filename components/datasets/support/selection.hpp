#pragma once

#include "components/datasets/dataset.hpp"

namespace runner {

// That many examples, chosen and ordered by the seed; where examples have a class, the same share of each
// class, and at least one of each where there is room.
std::vector<std::int64_t> random_sample(const Split& split, std::int64_t count, std::uint64_t seed);

// These examples of a split.
std::unique_ptr<Split> selection(std::shared_ptr<const Split> split, std::vector<std::int64_t> indices);

// What losses and metrics take for "no class", unless their ignore_index says otherwise.
inline constexpr std::int64_t ignored_label = -100;

// How many examples each class has; empty where the split does not know them.
std::vector<std::int64_t> class_counts(const Split& split, std::int64_t classes);

}  // namespace runner
