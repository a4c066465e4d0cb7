#include <torch/types.h>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <csignal>
#include <fstream>
#include <set>
#include <thread>

#include "components/contract/example_random.hpp"
#include "registry/files/file_lock.hpp"
#include "runner/sweep/halving.hpp"
#include "runner/sweep/importance.hpp"
#include "runner/sweep/parzen.hpp"
#include "runner/sweep/sampler.hpp"
#include "runner/sweep/sweep.hpp"
#include "runner/sweep/trial.hpp"
#include "runner/sweep/trial_process.hpp"
#include "tests/support/files.hpp"
#include "tests/support/no_descriptors.hpp"
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
  CHECK(log.text(1e-4) == "1e-04");
  CHECK(log.text(log.rounded(0.00073988390509942)) == "0.000739884");
  CHECK(log.rounded(0.99999999) == 1);
  const Parameter integer = parse_parameter("model.hidden=log_int(16,1024)");
  CHECK((integer.log && !integer.countable()));
  CHECK(integer.text(1024) == "1024");
  CHECK_FALSE(is_parameter("optimizer.lr=0.1"));
  CHECK_FALSE(is_parameter("name=myfunction(1)"));
  for (const char* wrong :
       {"a=choice()", "a=choice(1,2", "a=range(3,3)", "a=range(0,1.5)", "a=uniform(1,0)", "a=uniform(1)",
        "a=log_uniform(0,1)", "a=log_int(0,8)", "a=log_int(1,8.5)", "a=uniform(x,1)", "=choice(1)",
        // Doubles do not hold these.
        "a=range(9007199254740993,9007199254740995)", "a=range(0,1e19)", "a=range(-1e19,0)",
        "a=log_int(1,1e19)"}) {
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
  CHECK_THROWS_AS(grid_sampler({parse_parameter("a=log_int(1,100)")}), std::invalid_argument);
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
  ExampleRandom random(1);
  int drawn = 0;
  for (int i = 0; i < 4000; ++i) {
    const Point point = parzen.draw(random);
    drawn += point[0] < 1 && point[1] == 1 && point[2] < 5;
  }
  CHECK_THAT(drawn / 4000.0, Catch::Matchers::WithinAbs(expected, 0.03));
}

// Of optuna.samplers._tpe.parzen_estimator._ParzenEstimator, Optuna 5.0.0, with the parameters of its default
// sampler. Equal values come in the order in which they were tried, which Optuna's sort leaves open.
TEST_CASE("the density is that of Optuna's default sampler", "[sweep]") {
  const std::vector<Parameter> space{
      parse_parameter("x=uniform(-5,10)"), parse_parameter("rate=log_uniform(1e-5,1)"),
      parse_parameter("layers=range(1,11)"), parse_parameter("activation=choice(relu,tanh,sigmoid)")};
  const std::vector<Point> asked{{0, 1e-3, 3, 0}, {9.5, 0.5, 10, 2}, {-4.9, 2e-5, 1, 1}};
  const auto agrees = [&](const std::vector<Point>& tried, const std::vector<double>& logs) {
    const Parzen parzen(space, tried);
    for (std::size_t i = 0; i < asked.size(); ++i)
      CHECK_THAT(parzen.log_density(asked[i]), Catch::Matchers::WithinAbs(logs[i], 1e-9));
  };
  const std::vector<Point> few{{-1, 1e-3, 3, 0}, {4, 1e-2, 7, 1}, {4.5, 1e-2, 3, 0}};
  agrees({few[0]}, {-7.953488540384178, -9.181048712463538, -8.850902703139031});
  agrees(few, {-7.011656758199699, -9.916515851894511, -9.79494262565402});
  std::vector<Point> many;  // enough that the oldest count less
  for (int i = 0; i < 30; ++i) {
    many.push_back({-5 + 15 * ((i * 37) % 101) / 101.0, std::pow(10, -5 * ((i * 53) % 97) / 97.0),
                    1.0 + (i * 7) % 10, static_cast<double>(i % 3)});
  }
  agrees(many, {-11.292050668115882, -12.088318220601519, -12.102455776049883});
}

TEST_CASE("the density of integers on a logarithmic scale is Optuna's", "[sweep]") {
  const std::vector<Parameter> space{parse_parameter("units=log_int(16,1024)"),
                                     parse_parameter("x=uniform(-5,10)")};
  const std::vector<Point> asked{{16, 0}, {64, 9.5}, {1024, -4.9}, {100, 2}},
      tried{{32, -1}, {64, 4}, {900, 4.5}};
  const auto agrees = [&](const std::vector<Point>& points, const std::vector<double>& logs) {
    const Parzen parzen(space, points);
    for (std::size_t i = 0; i < asked.size(); ++i)
      CHECK_THAT(parzen.log_density(asked[i]), Catch::Matchers::WithinAbs(logs[i], 1e-9));
  };
  agrees({tried[0]}, {-6.819012922156659, -8.429749279184213, -11.309854339945776, -8.627653799909146});
  agrees(tried, {-6.707862851388194, -8.743723176415067, -12.40129435676221, -8.476835010319316});
  const Parzen parzen(space, tried);
  ExampleRandom random(2);
  for (int i = 0; i < 500; ++i) {
    const double drawn = parzen.draw(random)[0];
    CHECK((drawn >= 16 && drawn <= 1024 && drawn == std::round(drawn)));
  }
}

// As optuna.distributions.IntDistribution(1, 8, log=True) draws them: uniformly between log(0.5) and
// log(8.5).
TEST_CASE("integers on a logarithmic scale come up as often as Optuna's", "[sweep]") {
  const Parameter parameter = parse_parameter("layers=log_int(1,8)");
  constexpr int draws = 20000;
  std::vector<int> counts(9);
  ExampleRandom random(5);
  for (int i = 0; i < draws; ++i) ++counts.at(static_cast<std::size_t>(random_value(parameter, random)));
  for (int value = 1; value <= 8; ++value) {
    const double share = std::log((value + 0.5) / (value - 0.5)) / std::log(8.5 / 0.5);
    CHECK_THAT(counts[static_cast<std::size_t>(value)] / double{draws},
               Catch::Matchers::WithinAbs(share, 0.01));
  }
}

TEST_CASE("a trial continues while it is among the best third of those that came as far", "[sweep]") {
  Halving halving;
  CHECK(halving.may_continue(0, 1, 5.0));        // the first has nobody to lose against
  CHECK_FALSE(halving.may_continue(1, 1, 6.0));  // worse than the only other
  CHECK(halving.may_continue(2, 1, 4.0));
  CHECK(halving.may_continue(2, 2, 100.0));  // nobody is judged between 1 and 3
  for (const std::int64_t trial : {3, 4, 5})
    CHECK_FALSE(halving.may_continue(trial, 1, 4.0 + static_cast<double>(trial)));
  CHECK(halving.may_continue(6, 1, 4.5));  // second of seven
}

TEST_CASE("a trial that comes to an evaluation again counts once", "[sweep]") {
  Halving halving;
  for (const std::int64_t trial : {0, 1, 2}) halving.may_continue(trial, 1, static_cast<double>(trial));
  for (int again = 0; again < 9; ++again) halving.may_continue(2, 1, 2.0);  // resumed again and again
  CHECK_FALSE(halving.may_continue(3, 1, 1.5));  // third of four; of thirteen it would be good enough
}

TEST_CASE("a resumed trial is not judged again by what it had passed before", "[sweep]") {
  Halving halving;
  CHECK(halving.may_continue(0, 1, 5.0));
  for (const std::int64_t trial : {1, 2, 3}) halving.may_continue(trial, 1, 1.0);  // all better
  CHECK(halving.may_continue(0, 1, 5.0));
  halving.may_continue(1, 3, 1.0);
  CHECK_FALSE(halving.may_continue(0, 3, 5.0));  // what comes after that counts
}

TEST_CASE("how a trial ended is what its process says, whatever signals it got", "[sweep]") {
  using enum Trial::Outcome;
  constexpr int terminated = 128 + SIGTERM;
  CHECK(outcome_of(terminated, true, false) == stopped_early);
  CHECK(outcome_of(0, true, false) == finished);  // it had come to its end
  CHECK(outcome_of(1, true, false) == failed);
  CHECK(outcome_of(terminated, false, true) == unfinished);
  CHECK(outcome_of(0, false, true) == finished);
  CHECK(outcome_of(1, false, true) == failed);
  CHECK(outcome_of(128 + SIGKILL, false, false) == failed);
}

TEST_CASE("the setting that matters explains the results", "[sweep]") {
  const std::vector<Parameter> parameters{parse_parameter("a=choice(x,y,z)"),
                                          parse_parameter("b=uniform(0,1)")};
  std::vector<Observation> seen;
  ExampleRandom random(3);
  for (int i = 0; i < 60; ++i) {
    const Point point{random_value(parameters[0], random), random_value(parameters[1], random)};
    seen.push_back({point, 10 * point[0] + 0.1 * random.uniform()});
  }
  const auto shares = importance(parameters, seen);
  CHECK(*shares[0] > 0.95);
  CHECK(*shares[1] < 0.1);
  seen.resize(2);
  CHECK_FALSE(importance(parameters, seen)[0]);  // two trials tell nothing
}

TEST_CASE("a journal of trials survives being torn", "[sweep]") {
  const testing::TemporaryFolder folder;
  {
    TrialJournal journal(folder / "trials.jsonl", 2);
    journal.start({.number = 0, .point = {1, 0.5}});
    journal.end({.number = 0,
                 .point = {1, 0.5},
                 .outcome = Trial::Outcome::finished,
                 .value = 0.75,
                 .step = 10,
                 .seconds = 2});
    journal.start({.number = 1, .point = {0, 0.25}, .threads = 3});
  }
  std::ofstream(folder / "trials.jsonl", std::ios::app) << "{\"trial\":1,\"outco";
  const TrialJournal journal(folder / "trials.jsonl", 2);
  REQUIRE(journal.trials().size() == 2);
  CHECK(journal.trials()[0].outcome == Trial::Outcome::finished);
  CHECK(journal.trials()[0].value == 0.75);
  CHECK(journal.trials()[1].outcome == Trial::Outcome::unfinished);
  CHECK(journal.trials()[1].point == Point{0, 0.25});
  CHECK(journal.trials()[1].threads == 3);
}

TEST_CASE("a trial that is run again is unfinished until it ends again", "[sweep]") {
  const testing::TemporaryFolder folder;
  {
    TrialJournal journal(folder / "trials.jsonl", 1);
    journal.start({.number = 0, .point = {1}});
    journal.end({.number = 0, .point = {1}, .outcome = Trial::Outcome::failed, .message = "disk full"});
    journal.start({.number = 0, .point = {1}});
    CHECK(journal.trials()[0].outcome == Trial::Outcome::unfinished);
  }
  const TrialJournal journal(folder / "trials.jsonl", 1);
  REQUIRE(journal.trials().size() == 1);
  CHECK(journal.trials()[0].outcome == Trial::Outcome::unfinished);
  CHECK(journal.trials()[0].message.empty());
}

TEST_CASE("a journal in which a trial has not a value for each parameter is refused", "[sweep]") {
  const testing::TemporaryFolder folder;
  const auto file = folder / "trials.jsonl";
  for (const char* line : {R"({"trial":0,"outcome":"finished","value":1.0})", R"({"trial":0,"point":[1.0]})",
                           R"({"trial":0,"point":[1.0,2.0,3.0]})"}) {
    INFO(line);
    testing::write_file(file, std::string(line) + "\n");
    CHECK_THROWS_WITH(TrialJournal(file, 2),
                      Catch::Matchers::ContainsSubstring("cannot be read: trial 0 has"));
  }
}

TEST_CASE("a journal that cannot be read is not taken for an empty one", "[sweep]") {
  const testing::TemporaryFolder folder;
  const std::string text = "{\"trial\":0,\"point\":[1.0]}\n";
  const auto file = testing::write_file(folder / "trials.jsonl", text);
  bool refused = false;
  {
    const testing::NoDescriptors none;
    try {
      const TrialJournal journal(file, 1);
    } catch (const std::runtime_error&) {
      refused = true;
    }
  }
  CHECK(refused);
  CHECK(testing::read_text(file) == text);
}

TEST_CASE("a sweep that another process is running is refused", "[sweep]") {
  const testing::TemporaryFolder folder;
  const FileLock other(folder / "sweep.lock");
  const SweepPlan plan{.recipe = "r.toml", .folder = folder.path()};
  CHECK_THROWS_WITH(run_sweep(plan, *grid_sampler({}), {}),
                    Catch::Matchers::ContainsSubstring("another process is running the sweep"));
}

// This program itself, which only says what it is.
TEST_CASE("a trial does not start while an earlier process of it holds the lock", "[sweep]") {
  const testing::TemporaryFolder folder;
  const TrialCommand command{{"--libidentify"}, {}, folder / "log"};
  auto earlier = std::make_unique<FileLock>(folder / "lock");
  CHECK_FALSE(TrialProcess::start(command, folder / "lock"));
  CHECK_FALSE(std::filesystem::exists(folder / "log"));
  earlier.reset();
  const auto process = TrialProcess::start(command, folder / "lock");
  REQUIRE(process);
  std::optional<int> code;
  while (!code) {
    code = process->exit_code();
    std::this_thread::yield();
  }
  CHECK(code == 0);
  CHECK_FALSE(testing::read_text(folder / "log").empty());
}

// This program itself, which finds no test of that name and fails without a word about an error.
TEST_CASE("a trial that fails again does not report the reason of its earlier attempt", "[sweep]") {
  const testing::TemporaryFolder folder;
  const SweepPlan plan{.recipe = "r.toml",
                       .overrides = {"--warn", "NoTests"},
                       .parameters = {parse_parameter("run.seed=choice(7)")},
                       .folder = folder.path(),
                       .retry_failed = true};
  {
    TrialJournal journal(folder / "trials.jsonl", 1);
    journal.start({.number = 0, .point = {0}});
    journal.end({.number = 0, .point = {0}, .outcome = Trial::Outcome::failed, .message = "disk full"});
  }
  testing::write_file(plan.trial_folder(0) / "result.json",
                      R"({"outcome": "failed", "message": "disk full"})");
  const auto ignore = [](const Trial&) {};
  const auto trials = run_sweep(plan, *grid_sampler(plan.parameters),
                                {.started = ignore, .ended = ignore, .interrupted = [] { return false; }});
  REQUIRE(trials.size() == 1);
  CHECK(trials[0].outcome == Trial::Outcome::failed);
  CHECK_THAT(trials[0].message, Catch::Matchers::StartsWith("exit code "));
}

}  // namespace
}  // namespace runner
