#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace runner {

struct IndexSplit {
  std::vector<std::int64_t> train, eval;
};

// This share of the examples of each class, chosen by the seed, is for evaluation: at least one, and never
// all. In order of the classes, then of the examples. Every class has at least two.
IndexSplit stratified_split(std::span<const std::int64_t> labels, double eval_share, std::uint64_t seed);

}  // namespace runner
