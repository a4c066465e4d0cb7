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
  second.restarted(2.5);
  CHECK(second.seconds(TimeLedger::lost) == 2.5);
  second.switch_to(TimeLedger::other);
  double parts = 0;
  for (std::size_t i = 0; i < TimeLedger::names.size(); ++i)
    parts += second.seconds(static_cast<TimeLedger::Activity>(i));
  CHECK(std::abs(second.total() - parts) < 0.1);
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
