#include "components/schedulers/learning_rate.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/parts.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

TEST_CASE("the warm-up rises at every update even where the schedule moves by epochs", "[schedulers]") {
  const LearningRate rate(part<SchedulerKind>("step", {{"by", "epoch"}, {"every", "2ep"}, {"warmup", "1ep"}}),
                          60, 10);
  REQUIRE_THAT(rate.factor(0), WithinAbs(0.0, 1e-12));
  REQUIRE_THAT(rate.factor(5), WithinAbs(0.5, 1e-12));
  REQUIRE_THAT(rate.factor(10), WithinAbs(1.0, 1e-12));
  REQUIRE_THAT(rate.factor(29), WithinAbs(1.0, 1e-12));
  REQUIRE_THAT(rate.factor(30), WithinAbs(0.1, 1e-12));  // two epochs after the warm-up
}

TEST_CASE("a schedule stays at its end after its own length", "[schedulers]") {
  for (const std::string name : {"linear", "cosine", "polynomial"}) {
    const LearningRate rate(part<SchedulerKind>(name, {{"end", 0.25}, {"length", "10step"}}), 40, 10);
    INFO(name);
    REQUIRE(rate.factor(9) > 0.25);
    REQUIRE_THAT(rate.factor(10), WithinAbs(0.25, 1e-12));
    REQUIRE_THAT(rate.factor(39), WithinAbs(0.25, 1e-12));
  }
}

TEST_CASE("a share of the run that rounds badly still falls on its update", "[schedulers]") {
  const LearningRate rate(part<SchedulerKind>("multi_step", {{"milestones", Setting::list({"0.07run"})}}),
                          100, 10);
  REQUIRE(rate.factor(6) == 1.0);
  REQUIRE(rate.factor(7) < 1.0);  // 0.07 * 100 is a little more than 7
}

TEST_CASE("a warm-up longer than the run is reported", "[schedulers]") {
  const auto cosine = part<SchedulerKind>("cosine", {{"warmup", "5ep"}});
  REQUIRE_THROWS_WITH(LearningRate(cosine, 40, 10), ContainsSubstring("longer than the run") &&
                                                        ContainsSubstring("\"5ep\" is 50 updates") &&
                                                        ContainsSubstring("has 40"));
  REQUIRE_NOTHROW(LearningRate(cosine, 50, 10));
  REQUIRE(LearningRate(cosine, 50, 10).factor(49) < 1.0);
}

TEST_CASE("a run limited by time alone has no length to fill", "[schedulers]") {
  REQUIRE_THROWS_WITH(LearningRate(part<SchedulerKind>("cosine"), 0, 10),
                      ContainsSubstring("train.max_steps"));
  REQUIRE_THROWS_WITH(LearningRate(part<SchedulerKind>("constant", {{"warmup", "0.1run"}}), 0, 10),
                      ContainsSubstring("train.max_steps"));
  REQUIRE(LearningRate(part<SchedulerKind>("cosine", {{"length", "10step"}}), 0, 10).factor(10) == 0.0);
  REQUIRE(LearningRate(part<SchedulerKind>("step", {{"every", "2ep"}}), 0, 10).factor(19) == 1.0);
}

TEST_CASE("one_cycle rises by itself", "[schedulers]") {
  REQUIRE_THROWS_WITH(LearningRate(part<SchedulerKind>("one_cycle", {{"warmup", "4step"}}), 40, 10),
                      ContainsSubstring("scheduler.warmup"));
  REQUIRE_THROWS_WITH(part<SchedulerKind>("one_cycle", {{"three_phase", true}, {"rise", 0.6}}),
                      ContainsSubstring("at most 0.5"));
}

}  // namespace
}  // namespace runner::testing
