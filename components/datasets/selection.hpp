#pragma once

#include "components/datasets/dataset.hpp"

namespace runner {

// The indices of `count` examples, chosen and ordered at random by the seed. If examples have classes: the
// same share of each class, and at least one of each if `count` allows it. At least `left` examples of each
// class are not chosen, so the sample may be smaller.
std::vector<std::int64_t> random_sample(const Split& split, std::int64_t count, std::uint64_t seed,
                                        std::int64_t left = 0);

// A split that has only these examples of another.
std::unique_ptr<Split> selection(std::shared_ptr<const Split> split, std::vector<std::int64_t> indices);

// The label of examples that losses and metrics ignore, unless their ignore_index says otherwise.
inline constexpr std::int64_t ignored_label = -100;

// How many examples each class has; empty if the split does not know the classes of its examples.
std::vector<std::int64_t> class_counts(const Split& split, std::int64_t classes);

}  // namespace runner
