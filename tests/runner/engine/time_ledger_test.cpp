#include <catch2/catch_all.hpp>
#include <cmath>

#include "runner/engine/time_ledger.hpp"

using namespace runner;

TEST_CASE("time ledger: the parts add up to the whole, also over attempts", "[engine]") {
  TimeLedger first;
  first.switch_to(TimeLedger::compute);
  {
    const auto counted = first.during(TimeLedger::data);
  }
  const State saved = first.save();
  TimeLedger second;
  second.load(saved);
  second.add_lost(2.5);
  CHECK(second.seconds(TimeLedger::lost) == 2.5);
  second.switch_to(TimeLedger::other);
  double parts = 0;
  for (std::size_t i = 0; i < TimeLedger::names.size(); ++i)
    parts += second.seconds(static_cast<TimeLedger::Activity>(i));
  CHECK(std::abs(second.total() - parts) < 0.1);
}

TEST_CASE("time ledger: it knows how often the run has failed", "[engine]") {
  TimeLedger ledger;
  ledger.add_lost(0);  // stopped by a signal, say: nothing was lost
  CHECK(std::isinf(ledger.seconds_between_failures()));
  ledger.add_lost(60);
  CHECK(std::abs(ledger.seconds_between_failures() - 60) < 1);
  TimeLedger next;
  next.load(ledger.save());
  next.add_lost(30);
  CHECK(std::abs(next.seconds_between_failures() - 45) < 1);
}
