// Every schedule against torch.optim.lr_scheduler over a whole run: tests/parity/schedulers_reference.py made
// the numbers.
#include <catch2/catch_all.hpp>

#include "components/schedulers/learning_rate.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/reference_numbers.hpp"

namespace runner::testing {
namespace {

constexpr int updates = 40, updates_per_epoch = 8;

struct Case {
  std::string name;
  std::string scheduler;
  Settings settings = {};
  double scale = 1.0;  // of ours, where PyTorch's begins below its peak
};

std::vector<Case> cases() {
  return {
      {"constant", "constant"},
      {"constant_warmup", "constant", {{"warmup", "10step"}, {"warmup_start", 0.1}}},
      {"linear", "linear"},
      {"linear_end_length", "linear", {{"end", 0.2}, {"length", "3ep"}}},
      {"cosine", "cosine"},
      {"cosine_end", "cosine", {{"end", 0.05}}},
      {"cosine_warmup", "cosine", {{"warmup", "1ep"}, {"warmup_start", 0.01}}},
      {"step", "step", {{"every", "1.5ep"}, {"gamma", 0.3}}},
      {"step_warmup",
       "step",
       {{"every", "12step"}, {"gamma", 0.3}, {"warmup", "0.1run"}, {"warmup_start", 0.25}}},
      {"multi_step",
       "multi_step",
       {{"milestones", Setting::list({"2ep", "0.7run", "36step"})}, {"gamma", 0.5}}},
      {"multi_step_warmup",
       "multi_step",
       {{"milestones", Setting::list({"2ep", "0.7run", "36step"})},
        {"gamma", 0.5},
        {"warmup", "4step"},
        {"warmup_start", 0.25}}},
      {"exponential", "exponential", {{"gamma", 0.93}, {"every", "1step"}}},
      {"polynomial", "polynomial", {{"power", 2.0}}},
      {"polynomial_length", "polynomial", {{"power", 0.9}, {"length", "0.5run"}}},
      {"one_cycle", "one_cycle"},
      {"one_cycle_linear",
       "one_cycle",
       {{"anneal", "linear"}, {"rise", 0.2}, {"div_factor", 10.0}, {"final_div_factor", 100.0}}},
      {"one_cycle_three_phase", "one_cycle", {{"three_phase", true}, {"rise", 0.4}}},
      {"cosine_restarts", "cosine_restarts", {{"period", "1ep"}}},
      {"cosine_restarts_growth", "cosine_restarts", {{"period", "6step"}, {"growth", 2.0}, {"end", 0.1}}},
      {"inverse_sqrt", "inverse_sqrt", {{"warmup", "1ep"}, {"warmup_start", 0.01}}},
      {"warmup_stable_decay", "warmup_stable_decay"},
      {"warmup_stable_decay_cosine",
       "warmup_stable_decay",
       {{"decay", "0.5run"}, {"shape", "cosine"}, {"end", 0.1}}},
      {"warmup_stable_decay_sqrt", "warmup_stable_decay", {{"decay", "20step"}, {"shape", "sqrt"}}},
      {"sequential",
       "sequential",
       {{"milestones", Setting::list({"12step", "0.7run"})},
        {"part", Setting::list({Setting::table({{"name", "linear"}}),
                                Setting::table({{"name", "exponential"}, {"gamma", 0.9}, {"every", "1step"}}),
                                Setting::table({{"name", "cosine"}})})}}},
      {"chained",
       "chained",
       {{"part", Setting::list({Setting::table({{"name", "multi_step"},
                                                {"gamma", 10.0},
                                                {"milestones", Setting::list({"10step"})}}),
                                Setting::table({{"name", "step"}, {"every", "7step"}, {"gamma", 0.5}})})}},
       0.1},
      {"cosine_epochs", "cosine", {{"by", "epoch"}}},
      {"step_epochs", "step", {{"by", "epoch"}, {"every", "2ep"}}},
      {"multi_step_epochs", "multi_step", {{"by", "epoch"}, {"milestones", Setting::list({"8step", "3ep"})}}},
      {"exponential_epochs", "exponential", {{"by", "epoch"}, {"gamma", 0.8}}},
      {"linear_epochs", "linear", {{"by", "epoch"}}},
  };
}

TEST_CASE("every schedule has the values of torch.optim.lr_scheduler at every update", "[schedulers]") {
  const ReferenceNumbers reference("schedulers.txt");
  for (const Case& one : cases()) {
    DYNAMIC_SECTION(one.name) {
      const LearningRate rate(part<SchedulerKind>(one.scheduler, one.settings), updates, updates_per_epoch);
      const std::vector<double>& expected = reference[one.name];
      REQUIRE(expected.size() == updates);
      for (int step = 0; step < updates; ++step) {
        INFO("update " << step);
        // lr_scheduler multiplies the learning rate up step by step, so its own rounding errors add up.
        REQUIRE_THAT(one.scale * rate.factor(step),
                     Catch::Matchers::WithinRel(expected[static_cast<std::size_t>(step)], 1e-9) ||
                         Catch::Matchers::WithinAbs(expected[static_cast<std::size_t>(step)], 1e-14));
      }
    }
  }
}

TEST_CASE("plateau follows its measurement as ReduceLROnPlateau does, over a restart too", "[schedulers]") {
  const ReferenceNumbers reference("schedulers.txt");
  const std::vector<Case> plateaus{
      {"plateau", "plateau", {{"patience", 2}, {"factor", 0.5}}},
      {"plateau_cooldown", "plateau", {{"patience", 1}, {"factor", 0.3}, {"cooldown", 3}, {"min", 0.05}}},
      {"plateau_max",
       "plateau",
       {{"metric", "eval/accuracy"}, {"patience", 3}, {"factor", 0.7}, {"threshold", 0.02}}},
      {"plateau_abs",
       "plateau",
       {{"patience", 2}, {"factor", 0.5}, {"threshold", 0.05}, {"threshold_mode", "abs"}}},
      {"plateau_max_abs",
       "plateau",
       {{"metric", "eval/accuracy"},
        {"mode", "max"},
        {"patience", 0},
        {"factor", 0.9},
        {"threshold", 0.05},
        {"threshold_mode", "abs"}}},
  };
  const bool inside = GENERATE(false, true);  // of a sequence: measurements and state pass through
  for (const Case& one : plateaus) {
    DYNAMIC_SECTION(one.name << (inside ? ", inside another" : "")) {
      const auto fresh = [&] {
        const std::vector<Measured> metrics{{"eval/loss", Better::min}, {"eval/accuracy", Better::max}};
        if (!inside)
          return LearningRate(part<SchedulerKind>(one.scheduler, one.settings), updates, 1, metrics);
        Table own;
        own.set("name", Setting("plateau").value);
        for (const auto& [key, setting] : one.settings) own.set(key, setting.value);
        const auto parts = Setting::list(
            {Setting::table({{"name", "constant"}}), Setting(Value(Value::Data(std::move(own))))});
        return LearningRate(part<SchedulerKind>("chained", {{"part", parts}}), updates, 1, metrics);
      };
      LearningRate rate = fresh();
      const std::vector<double>& expected = reference[one.name];
      REQUIRE(expected.back() < 1);
      for (int update = 0; update < updates; ++update) {
        INFO("update " << update);
        REQUIRE_THAT(rate.factor(update),
                     Catch::Matchers::WithinRel(expected[static_cast<std::size_t>(update)], 1e-9));
        const double value = 1 / (1 + 0.5 * update) + 0.1 * std::sin(0.7 * update);
        rate.schedule().observe({{"eval/loss", value}, {"eval/accuracy", value}});
        const auto saved = rate.schedule().save();
        rate = fresh();
        rate.schedule().load(saved);
      }
    }
  }
}

TEST_CASE(
    "plateau inside another schedule follows its measurement after a warm-up of its own, over a restart too",
    "[schedulers]") {
  const auto fresh = [] {
    const auto parts = Setting::list({Setting::table({{"name", "plateau"},
                                                      {"patience", 0},
                                                      {"factor", 0.5},
                                                      {"warmup", "4step"},
                                                      {"warmup_start", 0.2}})});
    return LearningRate(part<SchedulerKind>("chained", {{"part", parts}}), updates, 1,
                        {{"eval/loss", Better::min}});
  };
  LearningRate before = fresh(), after = fresh();
  for (const double loss : {2.0, 2.0, 2.0}) before.schedule().observe({{"eval/loss", loss}});
  after.schedule().load(before.schedule().save());
  for (const LearningRate* rate : {&before, &after}) {
    REQUIRE_THAT(rate->factor(2), Catch::Matchers::WithinRel(0.6, 1e-12));
    REQUIRE(rate->factor(4) == 0.25);
  }
}

TEST_CASE("plateau never raises the learning rate, also if `min` is higher than where it has come",
          "[schedulers]") {
  const auto plateau = [](double min) {
    return part<SchedulerKind>("plateau", {{"patience", 0}, {"factor", 0.1}, {"min", min}}).build({});
  };
  const auto before = plateau(0), after = plateau(0.5);
  for (int count = 0; count < 3; ++count) before->observe({{"eval/loss", 1.0}});
  after->load(before->save());
  after->observe({{"eval/loss", 1.0}});
  REQUIRE_THAT(after->factor(0), Catch::Matchers::WithinRel(0.01, 1e-12));
}

TEST_CASE("plateau recovers from a first measurement that is infinite, as ReduceLROnPlateau does",
          "[schedulers]") {
  for (const std::string mode : {"rel", "abs"}) {
    CAPTURE(mode);
    const auto plateau =
        part<SchedulerKind>("plateau", {{"patience", 0}, {"factor", 0.5}, {"threshold_mode", mode}})
            .build({});
    for (const double loss : {double{INFINITY}, 5.0, 4.0}) plateau->observe({{"eval/loss", loss}});
    REQUIRE(plateau->factor(0) == 1);
    plateau->observe({{"eval/loss", 4.0}});
    REQUIRE(plateau->factor(0) == 0.5);
  }
}

}  // namespace
}  // namespace runner::testing
