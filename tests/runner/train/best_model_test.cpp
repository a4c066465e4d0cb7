#include "runner/train/best_model.hpp"

#include <catch2/catch_all.hpp>
#include <limits>

using namespace runner;

namespace {

bool admitted(BestModel& best, std::int64_t step, double loss) {
  Progress progress;
  progress.step = step;
  return best.admit(progress, {{"eval/accuracy", 1}, {"eval/loss", loss}});
}

std::vector<std::int64_t> steps_of(const BestModel& best) {
  std::vector<std::int64_t> steps;
  for (const auto& one : best.kept()) steps.push_back(one.step);
  return steps;
}

}  // namespace

TEST_CASE("the best model follows its rule, and a tie stays with the earlier one") {
  BestModel best({"eval/loss", Better::min});
  CHECK(admitted(best, 1, 2.0));
  CHECK_FALSE(admitted(best, 2, 2.0));
  CHECK_FALSE(admitted(best, 3, 3.0));
  CHECK(admitted(best, 4, 1.5));
  CHECK(best.best()->value == 1.5);
  CHECK(best.is_best(4));
}

TEST_CASE("a measurement that is not a number is never the best") {
  BestModel best({"eval/accuracy", Better::max});
  CHECK_FALSE(best.admit({}, {{"eval/accuracy", std::numeric_limits<double>::quiet_NaN()}}));
  CHECK_FALSE(best.best());
  CHECK(best.admit({}, {{"eval/accuracy", 0.0}}));
}

TEST_CASE("as many of the best as the rule keeps, the best first, and the others are displaced") {
  BestModel best({"eval/loss", Better::min, 3});
  for (const auto& [step, loss] : {std::pair{1, 5.0}, {2, 3.0}, {3, 4.0}}) CHECK(admitted(best, step, loss));
  CHECK(steps_of(best) == std::vector<std::int64_t>{2, 3, 1});
  CHECK_FALSE(admitted(best, 4, 5.0));
  CHECK(best.displaced().empty());
  CHECK(admitted(best, 5, 3.0));
  CHECK(steps_of(best) == std::vector<std::int64_t>{2, 5, 3});
  CHECK(best.take_displaced() == std::vector<std::int64_t>{1});
  CHECK(best.newest_step() == 5);
  CHECK_FALSE(admitted(best, 5, 0.0));  // the same step: the same weights
}

TEST_CASE("the best evaluations survive a checkpoint, fewer where the recipe keeps fewer now") {
  BestModel best({"eval/loss", Better::min, 3});
  for (const auto& [step, loss] : {std::pair{1, 5.0}, {2, 3.0}, {3, 4.0}}) CHECK(admitted(best, step, loss));
  BestModel again({"eval/loss", Better::min, 3}), fewer({"eval/loss", Better::min, 1});
  again.load(best.save());
  CHECK(steps_of(again) == steps_of(best));
  CHECK(again.best()->value == 3.0);
  fewer.load(best.save());
  CHECK(steps_of(fewer) == std::vector<std::int64_t>{2});
  CHECK(fewer.take_displaced() == std::vector<std::int64_t>{3, 1});
  BestModel other({"eval/accuracy", Better::max, 3});
  other.load(best.save());
  CHECK(other.kept().empty());  // numbers of another measurement say nothing
  CHECK(admitted(other, 3, 4.0));
  CHECK(other.take_displaced() == std::vector<std::int64_t>{2, 1});  // the file of step 3 is in use again
  BestModel reversed({"eval/loss", Better::max, 3});
  reversed.load(best.save());
  CHECK(reversed.kept().empty());  // the lowest losses are not among the highest
  again.forget(2);
  CHECK(again.is_best(3));
}
