#include "runner/run_length.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/decoded_recipe.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

bool depends(const std::string& scheduler) {
  return schedule_depends_on_length(
      decoded_recipe(
          Recipes("model = \"mlp\"\ndataset = \"shapes\"\noptimizer = \"sgd\"\ntrain = { epochs = 3 }\n"
                  "scheduler = " +
                  scheduler + "\n"))
          .scheduler);
}

}  // namespace

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
