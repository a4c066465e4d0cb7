#include "runner/ranks/launch/attempt.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;

namespace {

Sighting at_step(std::int64_t step, std::int64_t first) {
  Sighting sighting;
  sighting.collective = 7;
  sighting.step = step;
  sighting.first_step = first;
  return sighting;
}

}  // namespace

TEST_CASE("recovery timer: it ends with the first step after the resumed one, and says so once") {
  RecoveryTimer timer(RecoveryTimer::Clock::now());
  CHECK_FALSE(timer.seen(std::nullopt));
  CHECK_FALSE(timer.seen(at_step(-1, -1)));  // collectives are under way, but no training
  CHECK_FALSE(timer.seen(at_step(10, 10)));
  CHECK(timer.running());
  const auto taken = timer.seen(at_step(24, 10));  // also where nobody looked in between
  REQUIRE(taken);
  CHECK(taken->count() >= 0);
  CHECK_FALSE(timer.running());
  CHECK_FALSE(timer.seen(at_step(25, 10)));
}

TEST_CASE("recovery timer: the first attempt has nothing to recover from") {
  RecoveryTimer timer(std::nullopt);
  CHECK_FALSE(timer.running());
  CHECK_FALSE(timer.seen(at_step(5, 0)));
}
