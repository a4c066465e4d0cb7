#include <catch2/catch_all.hpp>

#include <array>
#include <set>

#include "components/contract/example_random.hpp"

namespace runner {
namespace {

TEST_CASE("example_random: equal seeds give equal draws, and the numbers never change between versions") {
  // SplitMix64 from seed 0, as published.
  ExampleRandom random(0);
  CHECK(random.bits() == 0xE220A8397B1DCDAFULL);
  CHECK(random.bits() == 0x6E789E6AA1B965F4ULL);
  CHECK(random.bits() == 0x06C45D188009454FULL);
}

TEST_CASE("example_random: whole numbers are equally likely") {
  ExampleRandom random(7);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) counts[static_cast<std::size_t>(random.below(7))]++;
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 10000.0) * (count - 10000.0) / 10000.0;
  CHECK(chi_square < 22.5);  // 6 degrees of freedom: one in a thousand lies above
  CHECK(random.below(1) == 0);
}

TEST_CASE("example_random: reals are in range, with the right mean; normal numbers have deviation 1") {
  ExampleRandom random(11);
  double sum = 0, normal = 0, square = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.uniform();
    REQUIRE((value >= 0 && value < 1));
    sum += value;
    const double drawn = random.normal();
    normal += drawn;
    square += drawn * drawn;
  }
  CHECK_THAT(sum / 100000, Catch::Matchers::WithinAbs(0.5, 0.005));
  CHECK_THAT(normal / 100000, Catch::Matchers::WithinAbs(0, 0.015));
  CHECK_THAT(square / 100000, Catch::Matchers::WithinAbs(1, 0.02));
}

TEST_CASE("example_random: the seed of an example depends on run, epoch and index, each in its own way") {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
      for (std::uint64_t index = 0; index < 100; ++index) seeds.insert(example_seed(seed, epoch, index));
    }
  }
  CHECK(seeds.size() == 10 * 10 * 100);
}

}  // namespace
}  // namespace runner
