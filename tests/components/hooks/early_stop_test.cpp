#include <catch2/catch_all.hpp>

#include "components/hooks/hook.hpp"
#include "tests/support/parts.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::part;
using testing::Settings;

HookInputs inputs() {
  HookInputs in;
  in.measured = {{"eval/accuracy", Better::max}, {"eval/loss", Better::min}, {"eval/speed"}};
  return in;
}

std::unique_ptr<Hook> early_stop(Settings settings) {
  return part<HookKind>("early_stop", settings).build(inputs());
}

// The evaluation, counted from 1, after which it asks to stop; 0: never.
int stops_at(Hook& hook, const std::string& metric, const std::vector<double>& values) {
  Requests requests;
  for (std::size_t i = 0; i < values.size(); ++i) {
    hook.after_eval({}, {{"eval/other", 1}, {metric, values[i]}}, requests);
    if (requests.stop_reason()) return static_cast<int>(i) + 1;
  }
  return 0;
}

TEST_CASE("early_stop waits for `patience` evaluations without improvement") {
  CHECK(stops_at(*early_stop({{"metric", "eval/accuracy"}, {"patience", 2}}), "eval/accuracy",
                 {0.1, 0.2, 0.2, 0.3, 0.3, 0.3, 0.9}) == 6);
  CHECK(stops_at(*early_stop({{"metric", "eval/loss"}, {"patience", 2}}), "eval/loss", {3, 2, 1, 0.5, 0.4}) ==
        0);
  CHECK(stops_at(*early_stop({{"metric", "eval/loss"}, {"mode", "min"}, {"patience", 1}}), "eval/loss",
                 {1, 2}) == 2);
}

TEST_CASE("early_stop: less than min_delta, and NaN, are no improvement") {
  const Settings settings{{"metric", "eval/accuracy"}, {"patience", 3}, {"min_delta", 0.05}};
  CHECK(stops_at(*early_stop(settings), "eval/accuracy", {0.5, 0.52, 0.54, 0.56, 0.57, 0.58, 0.6}) == 7);
  CHECK(stops_at(*early_stop(settings), "eval/accuracy", {NAN, NAN, NAN}) == 3);
  const Settings falling{{"metric", "eval/loss"}, {"patience", 2}, {"min_delta", 0.05}};
  CHECK(stops_at(*early_stop(falling), "eval/loss", {0.5, 0.48, 0.4, 0.38, 0.36, 0.2}) == 5);
}

TEST_CASE("early_stop says why, and leaves evaluations without its metric uncounted") {
  auto hook = early_stop({{"metric", "eval/accuracy"}, {"patience", 1}});
  Requests requests;
  hook->after_eval({}, {{"eval/accuracy", 0.75}}, requests);
  hook->after_eval({}, {{"eval/loss", 1}}, requests);
  CHECK_FALSE(requests.stop_reason());
  hook->after_eval({}, {{"eval/accuracy", 0.5}}, requests);
  CHECK(requests.stop_reason() == "eval/accuracy has not improved for 1 evaluations (best: 0.75)");
}

TEST_CASE("early_stop goes on from its state where it was") {
  const Settings settings{{"metric", "eval/accuracy"}, {"patience", 3}};
  auto before = early_stop(settings);
  CHECK(stops_at(*before, "eval/accuracy", {0.5, 0.4, 0.4}) == 0);
  auto after = early_stop(settings);
  after->load(before->save());
  CHECK(stops_at(*after, "eval/accuracy", {0.45}) == 1);
  after->load(early_stop(settings)->save());  // of one that has seen nothing
  CHECK(stops_at(*after, "eval/accuracy", {0.1, 0.1, 0.1, 0.1}) == 4);
}

TEST_CASE("early_stop knows which direction is better, and hears no other") {
  CHECK_THROWS_WITH(early_stop({{"metric", "eval/loss"}, {"mode", "max"}}),
                    ContainsSubstring("lower is better for this metric; delete mode"));
  CHECK_THROWS_WITH(early_stop({{"metric", "eval/speed"}}),
                    ContainsSubstring("set mode = \"max\" or \"min\""));
  CHECK(stops_at(*early_stop({{"metric", "eval/speed"}, {"mode", "min"}, {"patience", 1}}), "eval/speed",
                 {3, 2, 4}) == 3);
  const auto watched = part<HookKind>("early_stop", {{"metric", "eval/loss"}}).facts().watches;
  REQUIRE(watched);
  CHECK(watched->metric == "eval/loss");
}

TEST_CASE("early_stop refuses a metric that nobody computes, and names the nearest") {
  CHECK_THROWS_WITH(early_stop({{"metric", "eval/acuracy"}}),
                    ContainsSubstring("did you mean \"eval/accuracy\"?") && ContainsSubstring("eval/loss"));
  CHECK_THROWS_WITH(part<HookKind>("early_stop", {{"metric", "eval/accuracy"}}).build({}),
                    ContainsSubstring("[[eval.metric]]"));
  CHECK_THROWS_WITH(early_stop({}), ContainsSubstring("metric"));
}

}  // namespace
}  // namespace runner
