#pragma once

#include <array>
#include <cstdint>

#include "components/contract/progress.hpp"

namespace runner {

// The order of one epoch as a function from position to example index. A shuffled order is a keyed
// permutation (a Feistel network over the next power of two, with cycle walking), so it needs no memory, and
// the middle of an epoch is reached as fast as its start.
class EpochOrder {
 public:
  EpochOrder(std::int64_t size, bool shuffle, std::uint64_t seed, std::int64_t epoch);

  std::int64_t size() const { return size_; }
  std::int64_t operator()(std::int64_t position) const;  // 0 <= position < size

 private:
  static constexpr int rounds = 8;

  std::uint64_t permute(std::uint64_t number) const;

  std::int64_t size_;
  bool shuffle_;
  int low_bits_ = 1;
  std::uint64_t low_mask_ = 1, high_mask_ = 1;
  std::array<std::uint64_t, rounds> keys_{};
};

}  // namespace runner
