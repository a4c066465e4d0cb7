#include "components/contract/interval.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;

namespace {

Progress at_step(std::int64_t step) {
  Progress progress;
  progress.step = step;
  return progress;
}

Progress at_epoch(double epoch) {
  Progress progress;
  progress.exact_epoch = epoch;
  return progress;
}

}  // namespace

TEST_CASE("an interval in steps is due at every multiple") {
  const Interval every(steps(5));
  std::vector<int> due;
  for (int step = 1; step <= 16; ++step) {
    if (every.passed(at_step(step - 1), at_step(step))) due.push_back(step);
  }
  CHECK(due == std::vector<int>{5, 10, 15});
}

TEST_CASE("an interval in epochs is due when a multiple was passed, exactly reached or jumped over") {
  const Interval every(epochs(1));
  CHECK(every.passed(at_epoch(0.9), at_epoch(1.0)));
  CHECK(every.passed(at_epoch(0.9), at_epoch(2.3)));
  CHECK_FALSE(every.passed(at_epoch(1.0), at_epoch(1.9)));
}

TEST_CASE("fractions of an epoch do not lose the whole one to rounding") {
  const Interval every(epochs(0.1));
  int due = 0;
  for (int step = 1; step <= 30; ++step)
    due += every.passed(at_epoch((step - 1) / 30.0), at_epoch(step / 30.0));
  CHECK(due == 10);
}

TEST_CASE("nothing is due again while a skipped update leaves the step where it was") {
  CHECK_FALSE(Interval(steps(5)).passed(at_step(5), at_step(5)));
}

TEST_CASE("intervals in time and in shares of the run") {
  Progress before, now;
  before.seconds = 59, now.seconds = 61;
  before.share = 0.24, now.share = 0.25;
  CHECK(Interval(seconds(60)).passed(before, now));
  CHECK_FALSE(Interval(seconds(90)).passed(before, now));
  CHECK(Interval(share_of_run(0.25)).passed(before, now));
  CHECK_FALSE(Interval(share_of_run(0.5)).passed(before, now));
}
