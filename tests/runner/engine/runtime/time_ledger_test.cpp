#include "runner/engine/runtime/time_ledger.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;

namespace {

using Clock = std::chrono::steady_clock;

void spend(double seconds) {
  for (const auto began = Clock::now(); seconds_since(began) < seconds;) {
  }
}

}  // namespace

TEST_CASE("time ledger: every moment counts once, for its activity, also over attempts", "[engine]") {
  constexpr double rounding = 1e-6;
  const auto before = Clock::now();
  TimeLedger first;
  const auto after = Clock::now();
  first.switch_to(TimeLedger::compute);
  spend(0.03);
  {
    const auto counted = first.during(TimeLedger::data);
    spend(0.02);
  }
  spend(0.01);
  const double at_least = seconds_since(after);
  const State saved = first.save();
  const double at_most = seconds_since(before);
  CHECK(first.total() >= at_least - rounding);
  CHECK(first.seconds(TimeLedger::compute) >= 0.04 - rounding);
  CHECK(first.seconds(TimeLedger::data) >= 0.02 - rounding);
  CHECK(first.seconds(TimeLedger::data) <= at_most - 0.04 + rounding);

  const auto before_second = Clock::now();
  TimeLedger second;
  const auto after_second = Clock::now();
  second.load(saved);
  second.restarted(2.5);
  CHECK(second.seconds(TimeLedger::lost) == 2.5);
  second.switch_to(TimeLedger::other);
  spend(0.01);
  const double more = seconds_since(after_second);
  const double total = second.total();
  CHECK(total >= at_least + 2.5 + more - rounding);
  CHECK(total <= at_most + 2.5 + seconds_since(before_second) + rounding);
}

TEST_CASE("time ledger: it knows how often the run was restarted", "[engine]") {
  TimeLedger ledger;
  CHECK(ledger.restarts() == 0);
  ledger.restarted(0);  // killed right after a checkpoint: nothing was lost
  TimeLedger next;
  next.load(ledger.save());
  next.restarted(30);
  CHECK(next.restarts() == 2);
  CHECK(next.seconds(TimeLedger::lost) == 30);
}
