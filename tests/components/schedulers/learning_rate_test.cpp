#include "components/schedulers/learning_rate.hpp"

#include <catch2/catch_all.hpp>

#include "registry/base/log.hpp"
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

TEST_CASE("milestones that the run never reaches are reported", "[schedulers]") {
  const auto warnings = [](const char* name, Setting milestones, const Settings& more = {}) {
    Settings settings{{"milestones", std::move(milestones)}};
    settings.insert(settings.end(), more.begin(), more.end());
    log::clear_warnings();
    const LearningRate rate(part<SchedulerKind>(name, settings), 40, 10);
    return log::warnings();
  };
  CHECK(warnings("multi_step", Setting::list({"3ep", "39step"})).empty());
  const auto late = warnings("multi_step", Setting::list({"3ep", "4ep", "90step"}));
  REQUIRE(late.size() == 1);
  CHECK_THAT(late.front(), ContainsSubstring("the run ends before \"4ep\" and \"90step\""));
  const Settings parts{{"part", Setting::list({"constant", "cosine"})}};
  CHECK(warnings("sequential", Setting::list({"39step"}), parts).empty());
  CHECK(warnings("sequential", Setting::list({"5ep"}), parts).size() == 1);
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

Setting schedule(const std::string& name, const Settings& settings = {}) {
  Table table;
  table.set("name", Setting(name).value);
  for (const auto& [key, setting] : settings) table.set(key, setting.value);
  return Value(Value::Data(std::move(table)));
}

TEST_CASE("a schedule in a sequence ends where the next begins, after the warm-up of the whole",
          "[schedulers]") {
  const auto parts =
      Setting::list({schedule("linear"), schedule("multi_step", {{"milestones", Setting::list({"30step"})}}),
                     schedule("cosine", {{"warmup", "4step"}})});
  const LearningRate rate(
      part<SchedulerKind>(
          "sequential",
          {{"part", parts}, {"milestones", Setting::list({"20step", "40step"})}, {"warmup", "10step"}}),
      60, 10);
  REQUIRE_THAT(rate.factor(5), WithinAbs(0.5, 1e-12));
  REQUIRE_THAT(rate.factor(10), WithinAbs(1.0, 1e-12));
  REQUIRE_THAT(rate.factor(19), WithinAbs(0.1, 1e-12));  // ten updates of a line of ten
  REQUIRE_THAT(rate.factor(20), WithinAbs(1.0, 1e-12));
  REQUIRE_THAT(rate.factor(29), WithinAbs(1.0, 1e-12));
  REQUIRE_THAT(rate.factor(30), WithinAbs(0.1, 1e-12));  // a milestone is a point of the run
  REQUIRE_THAT(rate.factor(40), WithinAbs(0.0, 1e-12));  // a warm-up of its own
  REQUIRE_THAT(rate.factor(42), WithinAbs(0.5, 1e-12));
  REQUIRE_THAT(rate.factor(44), WithinAbs(1.0, 1e-12));
  REQUIRE_THAT(rate.factor(52), WithinAbs(0.5, 1e-12));  // half of the 16 updates that are left
}

TEST_CASE("what a sequence cannot do is explained", "[schedulers]") {
  const auto two = Setting::list({schedule("constant"), schedule("linear")});
  const auto rate = [&](const Setting& parts, const Setting& milestones, const char* by = "step") {
    return LearningRate(
        part<SchedulerKind>("sequential",
                            {{"part", parts}, {"milestones", milestones}, {"by", by}, {"warmup", "5step"}}),
        40, 10);
  };
  REQUIRE_THROWS_WITH(rate(two, Setting::list({})), ContainsSubstring("needs 1 for 2 schedules"));
  REQUIRE_THROWS_WITH(rate(two, Setting::list({"5step"})), ContainsSubstring("not after the warm-up"));
  const auto three = Setting::list({schedule("constant"), schedule("constant"), schedule("linear")});
  REQUIRE_THROWS_WITH(rate(three, Setting::list({"3ep", "20step"})),
                      ContainsSubstring("\"20step\" is not after the one before"));
  REQUIRE_THROWS_WITH(rate(Setting::list({schedule("constant"), schedule("linear", {{"by", "epoch"}})}),
                           Setting::list({"2ep"})),
                      ContainsSubstring("scheduler.by") && ContainsSubstring("\"linear\""));
  REQUIRE_THROWS_WITH(rate(Setting::list({schedule("constant"), schedule("linear", {{"warmup", "3step"}})}),
                           Setting::list({"2ep"}), "epoch"),
                      ContainsSubstring("has a warm-up"));
}

TEST_CASE("schedules say what they lack", "[schedulers]") {
  REQUIRE_THROWS_WITH(LearningRate(part<SchedulerKind>("inverse_sqrt"), 40, 10),
                      ContainsSubstring("scheduler.warmup") && ContainsSubstring("scheduler.timescale"));
  REQUIRE_THAT(
      LearningRate(part<SchedulerKind>("inverse_sqrt", {{"timescale", "10step"}}), 40, 10).factor(30),
      WithinAbs(0.5, 1e-12));
  REQUIRE_THROWS_WITH(
      LearningRate(part<SchedulerKind>("warmup_stable_decay", {{"decay", "3ep"}, {"warmup", "2ep"}}), 40, 10),
      ContainsSubstring("\"3ep\" is longer"));
  REQUIRE_THROWS_WITH(LearningRate(part<SchedulerKind>("plateau", {{"metric", "eval/los"}}), 40, 10,
                                   {{"eval/loss", Better::min}, {"eval/accuracy", Better::max}}),
                      ContainsSubstring("did you mean \"eval/loss\"?"));
  REQUIRE_NOTHROW(LearningRate(part<SchedulerKind>("plateau"), 40, 10));  // what is measured is not known yet
  REQUIRE_THROWS_WITH(LearningRate(part<SchedulerKind>("plateau", {{"mode", "max"}}), 40, 10,
                                   {{"eval/loss", Better::min}, {"eval/accuracy", Better::max}}),
                      ContainsSubstring("lower is better"));
}

}  // namespace
}  // namespace runner::testing
