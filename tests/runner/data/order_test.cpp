#include "runner/data/order.hpp"

#include <catch2/catch_all.hpp>

#include <numeric>
#include <vector>

namespace runner {
namespace {

std::vector<std::int64_t> all(const EpochOrder& order) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < order.size(); ++i) indices.push_back(order(i));
  return indices;
}

std::vector<std::int64_t> counted(std::int64_t size) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(size));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

TEST_CASE("order: every example comes once, whatever the size") {
  const auto complete = [](std::int64_t size, std::int64_t epoch) {
    auto indices = all(EpochOrder(size, true, 42, epoch));
    std::sort(indices.begin(), indices.end());
    return indices == counted(size);
  };
  for (std::int64_t size = 1; size < 300; ++size) {
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) REQUIRE(complete(size, epoch));
  }
  for (const std::int64_t size : {1023, 1024, 1025, 50000, 60000, 65536, 65537, 1281167})
    REQUIRE(complete(size, 1));
}

TEST_CASE("order: without shuffling it is the data's own") {
  CHECK(all(EpochOrder(100, false, 42, 3)) == counted(100));
}

TEST_CASE("order: seed and epoch decide, and nothing else") {
  CHECK(all(EpochOrder(1000, true, 1, 2)) == all(EpochOrder(1000, true, 1, 2)));
  CHECK(all(EpochOrder(1000, true, 1, 2)) != all(EpochOrder(1000, true, 1, 3)));
  CHECK(all(EpochOrder(1000, true, 1, 2)) != all(EpochOrder(1000, true, 2, 2)));
  CHECK(all(EpochOrder(1000, true, 1, 2)) != all(EpochOrder(1000, true, 2, 1)));
}

TEST_CASE("order: over many epochs each example is as likely at each position") {
  const std::int64_t size = GENERATE(3, 5, 10, 16, 33);
  constexpr std::int64_t epochs = 20000;
  std::vector<std::vector<double>> seen(static_cast<std::size_t>(size),
                                        std::vector<double>(static_cast<std::size_t>(size)));
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const EpochOrder order(size, true, 7, epoch);
    for (std::int64_t i = 0; i < size; ++i)
      seen[static_cast<std::size_t>(i)][static_cast<std::size_t>(order(i))]++;
  }
  const double expected = static_cast<double>(epochs) / static_cast<double>(size);
  double chi_square = 0;
  for (const auto& row : seen) {
    for (const double count : row) chi_square += (count - expected) * (count - expected) / expected;
  }
  const auto freedom = static_cast<double>((size - 1) * (size - 1));
  CHECK(chi_square < freedom + 4 * std::sqrt(2 * freedom) + 8);
}

TEST_CASE("order: neighbours are not kept together") {
  // Of 50,000 samples in random order, about 2 pairs in a row differ by one.
  const EpochOrder order(50000, true, 3, 0);
  int neighbours = 0;
  double correlation = 0;
  for (std::int64_t i = 1; i < order.size(); ++i) {
    neighbours += std::abs(order(i) - order(i - 1)) == 1;
    correlation +=
        (static_cast<double>(order(i)) / 50000 - 0.5) * (static_cast<double>(order(i - 1)) / 50000 - 0.5);
  }
  CHECK(neighbours < 12);
  CHECK(std::abs(correlation / 50000) < 0.002);  // independent: 0, deviation 0.0004
}

}  // namespace
}  // namespace runner
