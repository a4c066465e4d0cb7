#include <catch2/catch_all.hpp>
#include <cmath>
#include <fstream>
#include <set>

#include "components/contract/sample_random.hpp"
#include "runner/sweep/halving.hpp"
#include "runner/sweep/importance.hpp"
#include "runner/sweep/parzen.hpp"
#include "runner/sweep/sampler.hpp"
#include "runner/sweep/trial.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

TEST_CASE("what to try is written after the key", "[sweep]") {
  const Parameter choice = parse_parameter("model=choice(mlp, \"a,b\", {name = \"x\", n = [1, 2]})");
  CHECK(choice.key == "model");
  CHECK(choice.choices == std::vector<std::string>{"mlp", "\"a,b\"", "{name = \"x\", n = [1, 2]}"});
  const Parameter range = parse_parameter("run.seed=range(0,10,4)");
  CHECK(range.count() == 3);
  CHECK(range.text(range.value(2)) == "8");
  CHECK(parse_parameter("a=range(0,3)").count() == 3);
  const Parameter log = parse_parameter("lr=log_uniform(1e-4,1)");
  CHECK(log.log);
  CHECK(log.text(1) == "1.0");  // a number with a fraction, for TOML
  CHECK(log.text(1e-4) == "0.0001");
  CHECK_FALSE(is_parameter("optimizer.lr=0.1"));
  CHECK_FALSE(is_parameter("name=myfunction(1)"));
  for (const char* wrong : {"a=choice()", "a=choice(1,2", "a=range(3,3)", "a=range(0,1.5)", "a=uniform(1,0)",
                            "a=uniform(1)", "a=log_uniform(0,1)", "a=uniform(x,1)", "=choice(1)"}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_parameter(wrong), std::invalid_argument);
  }
}

TEST_CASE("a grid tries every combination once", "[sweep]") {
  const auto sampler = grid_sampler({parse_parameter("a=choice(x,y)"), parse_parameter("b=range(0,3)")});
  std::set<Point> seen;
  for (std::int64_t i = 0; i < 6; ++i) seen.insert(sampler->next(i, {}).value());
  CHECK(seen.size() == 6);
  CHECK_FALSE(sampler->next(6, {}));
  CHECK_THROWS_AS(grid_sampler({parse_parameter("a=uniform(0,1)")}), std::invalid_argument);
}

TEST_CASE("the density around tried values is a density, and draws follow it", "[sweep]") {
  const Parameter real = parse_parameter("a=uniform(-2,3)"), word = parse_parameter("b=choice(x,y,z)"),
                  whole = parse_parameter("c=range(0,9)");
  const Parzen parzen({real, word, whole}, {{0.5, 1, 3}, {0.6, 1, 4}, {2.9, 0, 4}});
  double area = 0, expected = 0;
  constexpr int steps = 500;
  for (int i = 0; i < steps; ++i) {
    const double x = -2 + 5.0 * (i + 0.5) / steps;
    for (double b = 0; b < 3; ++b) {
      for (double c = 0; c < 9; ++c) {
        const double mass = std::exp(parzen.log_density({x, b, c})) * 5 / steps;
        area += mass;
        if (x < 1 && b == 1 && c < 5) expected += mass;
      }
    }
  }
  CHECK_THAT(area, Catch::Matchers::WithinAbs(1.0, 1e-3));
  SampleRandom random(1);
  int drawn = 0;
  for (int i = 0; i < 4000; ++i) {
    const Point point = parzen.draw(random);
    drawn += point[0] < 1 && point[1] == 1 && point[2] < 5;
  }
  CHECK_THAT(drawn / 4000.0, Catch::Matchers::WithinAbs(expected, 0.03));
}

TEST_CASE("a trial goes on while it is among the best third of those that came as far", "[sweep]") {
  Halving halving;
  CHECK(halving.goes_on(1, 5.0));        // the first has nobody to lose against
  CHECK_FALSE(halving.goes_on(1, 6.0));  // worse than the only other
  CHECK(halving.goes_on(1, 4.0));
  CHECK(halving.goes_on(2, 100.0));  // nobody is judged between 1 and 3
  for (const double value : {7.0, 8.0, 9.0}) CHECK_FALSE(halving.goes_on(1, value));
  CHECK(halving.goes_on(1, 4.5));  // second of seven
}

TEST_CASE("the setting that matters explains the results", "[sweep]") {
  const std::vector<Parameter> parameters{parse_parameter("a=choice(x,y,z)"),
                                          parse_parameter("b=uniform(0,1)")};
  std::vector<Observation> seen;
  SampleRandom random(3);
  for (int i = 0; i < 60; ++i) {
    const Point point{random_value(parameters[0], random), random_value(parameters[1], random)};
    seen.push_back({point, 10 * point[0] + 0.1 * random.uniform()});
  }
  const auto shares = importance(parameters, seen);
  CHECK(shares[0] > 0.95);
  CHECK(shares[1] < 0.1);
}

TEST_CASE("a journal of trials survives being torn", "[sweep]") {
  const testing::TemporaryFolder folder;
  {
    TrialJournal journal(folder / "trials.jsonl");
    journal.begin({.number = 0, .point = {1, 0.5}});
    journal.end({.number = 0,
                 .point = {1, 0.5},
                 .outcome = Trial::Outcome::finished,
                 .value = 0.75,
                 .step = 10,
                 .seconds = 2});
    journal.begin({.number = 1, .point = {0, 0.25}});
  }
  std::ofstream(folder / "trials.jsonl", std::ios::app) << "{\"trial\":1,\"outco";
  const TrialJournal journal(folder / "trials.jsonl");
  REQUIRE(journal.trials().size() == 2);
  CHECK(journal.trials()[0].outcome == Trial::Outcome::finished);
  CHECK(journal.trials()[0].value == 0.75);
  CHECK(journal.trials()[1].outcome == Trial::Outcome::unfinished);
  CHECK(journal.trials()[1].point == Point{0, 0.25});
}

}  // namespace
}  // namespace runner
