#include <time.h>
#include <unistd.h>

#include <catch2/catch_all.hpp>
#include <chrono>
#include <thread>

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

TEST_CASE("time_limit expects the next step to take as long as the longest so far") {
  timespec now{};
  REQUIRE(::clock_gettime(CLOCK_BOOTTIME, &now) == 0);
  const double ticks = (static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9) *
                       static_cast<double>(::sysconf(_SC_CLK_TCK));
  const testing::EnvironmentVariable launcher{"RUNNER_LAUNCHER_START", std::to_string(std::llround(ticks))};
  const auto hook = part<HookKind>("time_limit", {{"limit", "10.7s"}, {"margin", "10s"}}).build({});
  Requests first, second;
  hook->after_step({}, first);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));  // what is left, 0.3 s, is less
  hook->after_step({}, second);
  CHECK(second.interrupt_reason());
}

TEST_CASE("time_limit refuses a margin that leaves no time") {
  CHECK_THROWS_WITH((part<HookKind>("time_limit", {{"limit", "1min"}, {"margin", "60s"}})),
                    ContainsSubstring("no time to train"));
  CHECK_THROWS_WITH((part<HookKind>("time_limit", {{"limit", "5ep"}})), ContainsSubstring("limit"));
}

}  // namespace
}  // namespace runner
