#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace runner {

struct IndexSplit {
  std::vector<std::int64_t> train, eval;
};

// Chooses this share of the examples of each class for the validation set: at least one, and never all. Both
// lists are sorted by class, then by index. Every class must have at least two examples.
IndexSplit stratified_split(std::span<const std::int64_t> labels, double eval_share, std::uint64_t seed);

}  // namespace runner
