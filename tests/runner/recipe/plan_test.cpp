#include "runner/recipe/plan.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/decoded_recipe.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

Plan plan_for(const TrainSection& train, std::int64_t batch_size, std::int64_t examples) {
  LoaderSection loader;
  loader.batch_size = batch_size;
  return make_plan(train, loader.batch_size, examples);
}

bool depends(const std::string& scheduler) {
  return schedule_depends_on_length(
      decoded_recipe(
          Recipes("model = \"mlp\"\ndataset = \"shapes\"\noptimizer = \"sgd\"\ntrain = { epochs = 3 }\n"
                  "scheduler = " +
                  scheduler + "\n"))
          .scheduler);
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

TEST_CASE("a run that is continued with other batches ends after as many epochs") {
  TrainSection train;
  train.epochs = 10;
  const EarlierPlan earlier{10, 0, 50, {5, 0}};  // half of it, in batches of 10
  const Plan halved = make_plan(train, 5, 100, earlier);
  CHECK(halved.total_steps == 50 + 5 * 20);
  CHECK(make_plan(train, 20, 100, earlier).total_steps == 50 + 5 * 5);
  CHECK(make_plan(train, 10, 100, earlier).total_steps == 100);

  SECTION("also when it is continued once more") {
    const EarlierPlan again{halved.steps_per_epoch, halved.extra_steps, 90, {7, 0}};
    CHECK(make_plan(train, 5, 100, again).total_steps == 150);
    CHECK(make_plan(train, 10, 100, again).total_steps == 90 + 3 * 10);
  }
  SECTION("also in the middle of an epoch, whose rest is in short batches") {
    train.epochs = 2;
    CHECK(make_plan(train, 3, 10, EarlierPlan{3, 0, 1, {0, 4}}).total_steps == 1 + 2 + 4);
    CHECK(make_plan(train, 7, 10, EarlierPlan{3, 0, 2, {0, 8}}).total_steps == 2 + 1 + 2);
    train.accumulation_steps = 2;
    CHECK(make_plan(train, 3, 10, EarlierPlan{3, 0, 1, {0, 4}}).total_steps == 1 + 1 + 2);
  }
  SECTION("updates that were skipped are made up for, as without a break") {
    CHECK(make_plan(train, 10, 100, EarlierPlan{10, 0, 47, {5, 0}}).total_steps == 100);
  }
}

TEST_CASE("a schedule depends on the length of the run if it is drawn over it", "[schedulers]") {
  for (const char* scheduler :
       {R"("cosine")", R"("linear")", R"("one_cycle")", R"("polynomial")",
        R"({ name = "constant", warmup = "0.1run" })", R"({ name = "multi_step", milestones = ["0.5run"] })",
        R"({ name = "cosine", length = "0.5run" })",
        R"({ name = "sequential", part = ["constant", "linear"], milestones = ["1ep"] })"}) {
    CAPTURE(scheduler);
    CHECK(depends(scheduler));
  }
}

TEST_CASE("a schedule does not depend on the length of the run if it has lengths of its own",
          "[schedulers]") {
  for (
      const char* scheduler :
      {R"("constant")", R"({ name = "constant", warmup = "1ep" })", R"({ name = "cosine", length = "3ep" })",
       R"({ name = "multi_step", milestones = ["2ep", "300step"] })", R"("exponential")",
       R"({ name = "inverse_sqrt", warmup = "10step" })", R"({ name = "plateau", metric = "eval/loss" })",
       R"({ name = "sequential", part = ["constant", "constant"], milestones = ["1ep"] })",
       // Rises only where an epoch has fewer than 600 steps.
       R"({ name = "sequential", part = ["constant", "constant", "constant"], milestones = ["1ep", "600step"] })"}) {
    CAPTURE(scheduler);
    CHECK_FALSE(depends(scheduler));
  }
}
