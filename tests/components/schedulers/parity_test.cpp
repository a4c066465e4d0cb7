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
        REQUIRE_THAT(rate.factor(step),
                     Catch::Matchers::WithinRel(expected[static_cast<std::size_t>(step)], 1e-9) ||
                         Catch::Matchers::WithinAbs(expected[static_cast<std::size_t>(step)], 1e-14));
      }
    }
  }
}

}  // namespace
}  // namespace runner::testing
