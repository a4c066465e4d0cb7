#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace runner {

// Mixes the bits of a number; a bijection (the finaliser of SplitMix64).
constexpr std::uint64_t scatter(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
  return bits ^ (bits >> 31);
}

inline constexpr std::uint64_t golden_gamma = 0x9E3779B97F4A7C15ULL;

// The seed for all random choices about one example (or batch) in one epoch. It depends on nothing else, such
// as threads or time.
constexpr std::uint64_t example_seed(std::uint64_t seed, std::uint64_t epoch, std::uint64_t index) {
  const std::uint64_t of_run = scatter(seed + golden_gamma);
  const std::uint64_t of_epoch = scatter(of_run ^ scatter(epoch + 2 * golden_gamma));
  return scatter(of_epoch ^ scatter(index + 3 * golden_gamma));
}

// SplitMix64: one word of state, so that every example can have its own generator. The distributions are
// implemented here because those of the standard library differ between implementations.
class ExampleRandom {
 public:
  constexpr explicit ExampleRandom(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t bits() {
    state_ += golden_gamma;
    return scatter(state_);
  }

  // 0, 1 .. count - 1, each equally likely; count is at least 1.
  constexpr std::int64_t below(std::int64_t count) {
    const auto range = static_cast<std::uint64_t>(count);
    const std::uint64_t biased = (0 - range) % range;  // words below this would favour small results
    std::uint64_t word = bits();
    while (word < biased) word = bits();
    return static_cast<std::int64_t>(word % range);
  }

  constexpr double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }  // [0, 1)
  constexpr double uniform(double low, double high) { return low + (high - low) * uniform(); }
  constexpr bool chance(double probability) { return uniform() < probability; }

  // Mean 0, deviation 1 (Box and Muller).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace runner
