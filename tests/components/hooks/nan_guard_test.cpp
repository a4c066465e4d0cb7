#include <catch2/catch_all.hpp>

#include "components/hooks/hook.hpp"
#include "registry/base/log.hpp"
#include "tests/support/parts.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::part;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

using Quiet = log::Silence;

Progress at(std::int64_t step) {
  Progress progress;
  progress.step = step;
  return progress;
}

TEST_CASE("nan_guard stops, and keeps the update away from the weights") {
  auto hook = part<HookKind>("nan_guard").build({});
  CHECK(hook->wants_gradients({}));
  Requests requests;
  hook->before_update(at(41), 0.5, 1.0, requests);
  CHECK_FALSE(requests.take_skip());
  CHECK_FALSE(requests.stop_reason());

  SECTION("loss") {
    hook->before_update(at(41), nan, 1.0, requests);
    CHECK_THAT(*requests.stop_reason(), ContainsSubstring("loss is not a number in step 42"));
  }
  SECTION("gradient") {
    hook->before_update(at(41), 0.5, infinity, requests);
    CHECK_THAT(*requests.stop_reason(), ContainsSubstring("gradient norm is infinite in step 42"));
  }
  CHECK(requests.take_skip());
}

TEST_CASE("nan_guard skips, until too many in a row") {
  Quiet quiet;
  auto hook = part<HookKind>("nan_guard", {{"action", "skip"}, {"limit", 3}}).build({});
  Requests requests;
  const double losses[] = {nan, infinity, 0.5, -infinity, nan};
  const bool skipped[] = {true, true, false, true, true};
  for (int i = 0; i < 5; ++i) {
    hook->before_update(at(i), losses[i], 1.0, requests);
    CHECK(requests.take_skip() == skipped[i]);
    CHECK_FALSE(requests.stop_reason());
  }
  auto resumed = part<HookKind>("nan_guard", {{"action", "skip"}, {"limit", 3}}).build({});
  resumed->load(hook->save());
  resumed->before_update(at(5), nan, 1.0, requests);
  CHECK(requests.take_skip());
  CHECK_THAT(*requests.stop_reason(), ContainsSubstring("3 updates in a row"));
}

TEST_CASE("nan_guard leaves gradients to a precision that looks after them itself, but not the loss") {
  HookInputs in;
  in.precision_skips = true;
  auto hook = part<HookKind>("nan_guard").build(in);
  Requests requests;
  hook->before_update(at(0), 0.5, infinity, requests);
  CHECK_FALSE(requests.take_skip());
  CHECK_FALSE(requests.stop_reason());
  hook->before_update(at(0), nan, infinity, requests);
  CHECK(requests.stop_reason());
}

}  // namespace
}  // namespace runner
