#include "runner/data/order.hpp"

#include <algorithm>
#include <bit>

#include "components/contract/example_random.hpp"

namespace runner {

EpochOrder::EpochOrder(std::int64_t size, bool shuffle, std::uint64_t seed, std::int64_t epoch)
    : size_(size), shuffle_(shuffle && size > 1) {
  if (!shuffle_) return;
  // Two halves, which may differ by one bit, so that the domain is less than twice the size. Halves of a bit
  // or two would not mix well, so tiny sets use a larger domain, which costs little.
  constexpr int least_bits = 8;
  const int bits =
      std::max(least_bits, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size - 1))));
  low_bits_ = bits / 2;
  low_mask_ = (std::uint64_t{1} << low_bits_) - 1;
  high_mask_ = (std::uint64_t{1} << (bits - low_bits_)) - 1;

  constexpr std::uint64_t of_orders = 0x6F72646572ULL;  // keeps these keys apart from the seeds of examples
  ExampleRandom keys(
      example_seed(seed ^ of_orders, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(size)));
  for (std::uint64_t& key : keys_) key = keys.bits();
}

std::uint64_t EpochOrder::permute(std::uint64_t number) const {
  std::uint64_t low = number & low_mask_;
  std::uint64_t high = number >> low_bits_;
  for (int round = 0; round < rounds; round += 2) {
    low ^= scatter(high ^ keys_[static_cast<std::size_t>(round)]) & low_mask_;
    high ^= scatter(low ^ keys_[static_cast<std::size_t>(round) + 1]) & high_mask_;
  }
  return (high << low_bits_) | low;
}

std::int64_t EpochOrder::operator()(std::int64_t position) const {
  if (!shuffle_) return position;
  // Cycle walking: repeating a permutation leads back into the set, at the latest to where it started.
  auto index = static_cast<std::uint64_t>(position);
  do index = permute(index);
  while (index >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(index);
}

}  // namespace runner
