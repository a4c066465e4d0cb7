#include <catch2/catch_all.hpp>

#include "components/hooks/hook.hpp"
#include "tests/support/files.hpp"
#include "tests/support/parts.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::part;

TEST_CASE("time_limit interrupts the run when less than the margin is left, and not before") {
  Requests requests;
  part<HookKind>("time_limit", {{"limit", "1000h"}, {"margin", "10h"}}).build({})->after_step({}, requests);
  CHECK_FALSE(requests.interrupt_reason());
  // The process is younger than ten hours, so the margin alone decides.
  part<HookKind>("time_limit", {{"limit", "10.000001h"}, {"margin", "10h"}})
      .build({})
      ->after_step({}, requests);
  REQUIRE(requests.interrupt_reason());
  CHECK_THAT(*requests.interrupt_reason(), ContainsSubstring("time limit"));
}

TEST_CASE("time_limit counts from the start of the launcher, which may have restarted the process") {
  const testing::EnvironmentVariable launcher{"RUNNER_LAUNCHER_START", "-3600000000"};  // ticks since boot
  Requests requests;
  part<HookKind>("time_limit", {{"limit", "1000h"}}).build({})->after_step({}, requests);
  CHECK(requests.interrupt_reason());
}

TEST_CASE("time_limit refuses a margin that leaves no time") {
  CHECK_THROWS_WITH((part<HookKind>("time_limit", {{"limit", "1min"}, {"margin", "60s"}})),
                    ContainsSubstring("no time to train"));
  CHECK_THROWS_WITH((part<HookKind>("time_limit", {{"limit", "5ep"}})), ContainsSubstring("limit"));
}

}  // namespace
}  // namespace runner
