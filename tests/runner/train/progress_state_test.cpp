#include "runner/train/progress_state.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("progress that no run can have reached is refused") {
  Progress progress;
  progress.step = 5;
  const Plan plan;
  const std::string stand_in;
  bool evaluation_due = false;
  std::optional<std::string> ended;
  ProgressState state(progress, plan, stand_in, evaluation_due, ended);
  const State good = state.save();
  state.load(good);
  for (const auto& [name, count] : good.integers) {
    for (const std::int64_t lie : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
      State bad = good;
      bad.integers[name] = lie;
      CHECK_THROWS_WITH(state.load(bad), ContainsSubstring("\"" + name + "\" has an impossible value"));
      CHECK_THROWS_AS(ProgressState::plan_of(bad), StateError);
    }
  }
  for (const auto& [name, number] : good.numbers) {
    for (const double lie : {std::nan(""), 1e308}) {
      State bad = good;
      bad.numbers[name] = lie;
      CHECK_THROWS_WITH(state.load(bad), ContainsSubstring("\"" + name + "\" has an impossible value"));
    }
  }
  CHECK(progress.step == 5);
}

TEST_CASE("a training set that has fewer examples than the run has seen of an epoch is refused") {
  Progress progress;
  progress.cursor.position = 60;
  Plan plan;
  plan.examples_per_epoch = 100;
  const std::string stand_in;
  bool evaluation_due = false;
  std::optional<std::string> ended;
  const State saved = ProgressState(progress, plan, stand_in, evaluation_due, ended).save();
  plan.examples_per_epoch = 60;  // the epoch is over, then
  ProgressState(progress, plan, stand_in, evaluation_due, ended).load(saved);
  plan.examples_per_epoch = 59;
  CHECK_THROWS_WITH(ProgressState(progress, plan, stand_in, evaluation_due, ended).load(saved),
                    ContainsSubstring("has 59 examples, but had 100") && ContainsSubstring("at example 60"));
}

TEST_CASE("stand-in data takes the place of the real data, or the reverse, only if that is allowed") {
  Progress progress;
  const Plan plan;
  std::string stand_in = GENERATE("", "Drawn shapes.");
  bool evaluation_due = false;
  std::optional<std::string> ended;
  ProgressState state(progress, plan, stand_in, evaluation_due, ended);
  const State saved = state.save();
  state.load(saved);
  stand_in = stand_in.empty() ? "Drawn shapes." : "";
  CHECK_THROWS_WITH(state.load(saved), ContainsSubstring("stand-in data") && ContainsSubstring("--force"));
  state.allow_other_data();
  state.load(saved);
}

TEST_CASE("progress comes back as it was, with the share that the plan gives it") {
  Plan plan;
  plan.total_steps = 10;
  plan.examples_per_epoch = 100;
  const std::string stand_in;
  Progress before, after;
  before.step = 5;
  before.epoch = 1;
  before.examples = 160;
  before.skipped_steps = 3;
  before.cursor = {1, 60};
  before.exact_epoch = 1.6;
  before.seconds = 12.5;
  bool due_before = true, due_after = false;
  std::optional<std::string> ended_before = "enough", ended_after;
  const State saved = ProgressState(before, plan, stand_in, due_before, ended_before).save();
  ProgressState state(after, plan, stand_in, due_after, ended_after);
  state.load(saved);
  CHECK(state.save().integers == saved.integers);
  CHECK(state.save().numbers == saved.numbers);
  CHECK(after.skipped_steps == 3);
  CHECK(after.examples == 160);
  CHECK(after.share == plan.share(before));
  CHECK(after.share > 0);
  CHECK(due_after);
  CHECK(ended_after == "enough");
  ended_before.reset();
  state.load(ProgressState(before, plan, stand_in, due_before, ended_before).save());
  CHECK_FALSE(ended_after);  // in a run that is continued
}
