#include "runner/plan.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;

namespace {

Plan plan_for(const TrainSection& train, std::int64_t batch_size, std::int64_t samples) {
  LoaderSection loader;
  loader.batch_size = batch_size;
  return make_plan(train, loader.batch_size, samples);
}

}  // namespace

TEST_CASE("a short last batch and a short last window count as steps") {
  TrainSection train;
  train.epochs = 3;
  train.accumulation_steps = 4;
  const Plan plan = plan_for(train, 10, 101);  // 11 batches: 4 + 4 + 3
  CHECK(plan.batches_per_epoch == 11);
  CHECK(plan.steps_per_epoch == 3);
  CHECK(plan.total_steps == 9);
}

TEST_CASE("whichever limit comes first ends the run") {
  TrainSection train;
  train.epochs = 2;
  train.max_steps = 7;
  CHECK(plan_for(train, 10, 100).total_steps == 7);
  train.max_steps = 70;
  CHECK(plan_for(train, 10, 100).total_steps == 20);
}

TEST_CASE("parts of an epoch are whole steps, and not one more for a rounding error") {
  TrainSection train;
  train.epochs = 0.1;
  CHECK(plan_for(train, 10, 100).total_steps == 1);
  train.epochs = 0.3;
  CHECK(plan_for(train, 10, 100).total_steps == 3);
  train.epochs = 0.31;
  CHECK(plan_for(train, 10, 100).total_steps == 4);
}

TEST_CASE("a run limited by the clock alone has no number of steps") {
  TrainSection train;
  train.max_time = seconds(10);
  const Plan plan = plan_for(train, 10, 100);
  CHECK_FALSE(plan.total_steps);
  Progress progress;
  progress.step = 1'000'000;
  progress.seconds = 9.9;
  CHECK_FALSE(plan.reached(progress));
  CHECK_THAT(plan.share(progress), Catch::Matchers::WithinRel(0.99, 1e-12));
  progress.seconds = 10;
  CHECK(plan.reached(progress));
}

TEST_CASE("a run of no steps is over at once: it only evaluates") {
  TrainSection train;
  train.max_steps = 0;
  const Plan plan = plan_for(train, 10, 100);
  CHECK(plan.total_steps == 0);
  CHECK(plan.reached({}));
}
