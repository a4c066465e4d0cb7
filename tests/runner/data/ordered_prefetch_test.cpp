#include "runner/data/ordered_prefetch.hpp"

#include <catch2/catch_all.hpp>

#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>

namespace runner {
namespace {

using Prefetch = OrderedPrefetch<std::unique_ptr<std::int64_t>>;

TEST_CASE("ordered_prefetch: all items, in order, whatever the number of workers") {
  const int workers = GENERATE(0, 1, 2, 7), ahead = GENERATE(1, 3, 16);
  Prefetch items([](std::int64_t number) { return std::make_unique<std::int64_t>(number * number); }, 500,
                 workers, ahead);
  for (std::int64_t number = 0; number < 500; ++number) {
    const auto item = items.next();
    REQUIRE(item);
    REQUIRE(**item == number * number);
  }
  CHECK_FALSE(items.next());
  CHECK_FALSE(items.next());
}

TEST_CASE("ordered_prefetch: never more items under way than asked for") {
  std::atomic<std::int64_t> started = 0;
  std::atomic<std::int64_t> taken = 0;
  std::atomic<std::int64_t> most = 0;
  Prefetch items(
      [&](std::int64_t number) {
        const std::int64_t now = ++started - taken;
        for (std::int64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        return std::make_unique<std::int64_t>(number);
      },
      2000, 3, 5);
  for (int i = 0; i < 2000; ++i) {
    (void)items.next();
    ++taken;  // after the slot is free, so that one more may be seen
  }
  CHECK(most <= 6);
}

TEST_CASE("ordered_prefetch: what goes wrong with an item is thrown when its turn comes, and again") {
  const int workers = GENERATE(0, 1, 4);
  Prefetch items(
      [](std::int64_t number) {
        if (number == 5) throw std::runtime_error("item five");
        return std::make_unique<std::int64_t>(number);
      },
      100, workers, 8);
  for (std::int64_t number = 0; number < 5; ++number) REQUIRE(**items.next() == number);
  CHECK_THROWS_WITH(items.next(), "item five");
  CHECK_THROWS_WITH(items.next(), "item five");
}

TEST_CASE("ordered_prefetch: may be given up at any moment, also while workers wait or work") {
  for (int round = 0; round < 200; ++round) {
    std::latch begun(1);
    std::atomic<bool> first = true;
    Prefetch items(
        [&](std::int64_t number) {
          if (first.exchange(false)) begun.count_down();
          return std::make_unique<std::int64_t>(number);
        },
        1 << 30, 3, 2 + round % 5);
    begun.wait();
    for (int i = 0; i < round % 7; ++i) REQUIRE(items.next());
  }
}

}  // namespace
}  // namespace runner
