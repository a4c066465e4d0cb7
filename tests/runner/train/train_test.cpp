#include "runner/train/train.hpp"

#include <array>
#include <catch2/catch_all.hpp>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runner/runs/tracking/build_trackers.hpp"
#include "tests/support/line_run.hpp"
#include "tests/support/ranks.hpp"

using namespace runner;
using Catch::Matchers::ContainsSubstring;
using testing::LineRun;

namespace {

auto near(double value) { return Catch::Matchers::WithinRel(value, 1e-5); }

struct Trained {
  TrainingEnd end;
  std::vector<nlohmann::json> records;  // of metrics.jsonl
};

Trained train_in(const std::filesystem::path& folder, Run& run, LoopControl control = {}) {
  if (!control.signal) control.signal = [] { return 0; };
  control.folder = folder;
  Console console(ConsoleOutput::silent(), ConsoleOutput::silent());
  Trackers trackers(build_trackers({}, Registry::of_linked(), {folder}), {"line", folder, {}, {}});
  trackers.start();
  Journal journal(trackers, console, run.plan, run.recipe.train.epochs);
  Trained trained{train(run, journal, control), {}};
  trackers.finish(Outcome::finished);
  std::istringstream lines(testing::read_text(folder / "metrics.jsonl"));
  for (std::string text; std::getline(lines, text);) trained.records.push_back(nlohmann::json::parse(text));
  return trained;
}

Trained train_line(LineRun& line, const LoopControl& control = {}) {
  return train_in(line.files.folder.path(), line.run, control);
}

// Asks after the first step to skip the next update.
struct SkipSecond : Hook {
  void after_step(const Progress& progress, Requests& requests) override {
    if (progress.step == 1 && progress.skipped_steps == 0) requests.skip_update();
  }
  State save() const override { return {}; }
  void load(const State&) override {}
};

// One step of gradient descent on some points, in plain arithmetic.
struct Line {
  double slope = 0, offset = 0;

  void step(const std::vector<std::pair<double, double>>& points, double lr) {
    double by_slope = 0, by_offset = 0;
    for (const auto& [x, y] : points) {
      const double error = slope * x + offset - y;
      by_slope += 2 * error * x / static_cast<double>(points.size());
      by_offset += 2 * error / static_cast<double>(points.size());
    }
    slope -= lr * by_slope;
    offset -= lr * by_offset;
  }
};

}  // namespace

TEST_CASE("train: one update over all points is that of the sums by hand") {
  LineRun line({1, 2, 3}, {2, 4, 9}, {"train.accumulation_steps=2"});  // batches of 2 and 1 in one window
  const Trained trained = train_line(line);
  CHECK(trained.end.outcome == Outcome::finished);
  CHECK_THAT(line.slope(), near(0.1 * 2 * (2 + 8 + 27) / 3.0));
  CHECK_THAT(line.offset(), near(0.1 * 2 * (2 + 4 + 9) / 3.0));

  REQUIRE(trained.records.size() == 2);  // the step, the evaluation
  CHECK(trained.records[0]["step"] == 1);
  CHECK_THAT(trained.records[0]["train/loss"].get<double>(), near((4 + 16 + 81) / 3.0));
  CHECK_THAT(trained.records[0]["train/lr"].get<double>(), near(0.1));
  CHECK_THAT(trained.records[0]["train/grad_norm"].get<double>(), near(std::hypot(74 / 3.0, 10)));
  // The line is 2.4667 x + 1 now.
  CHECK_THAT(trained.records[1]["eval/loss"].get<double>(),
             near((1.4666667 * 1.4666667 + 1.9333333 * 1.9333333 + 0.6 * 0.6) / 3));
}

TEST_CASE("train: a short last window counts for its examples, and epochs follow each other") {
  LineRun line({1, 0, 2, 1, 3}, {1, 2, 3, 4, 5}, {"train.accumulation_steps=2", "train.epochs=2"});
  Line expected;
  for (int epoch = 0; epoch < 2; ++epoch) {
    expected.step({{1, 1}, {0, 2}, {2, 3}, {1, 4}}, 0.1);
    expected.step({{3, 5}}, 0.1);
  }
  const Trained trained = train_line(line);
  CHECK_THAT(line.slope(), near(expected.slope));
  CHECK_THAT(line.offset(), near(expected.offset));
  CHECK(line.run.progress.step == 4);
  CHECK(line.run.progress.examples == 10);
  CHECK(line.run.progress.cursor == Cursor{2, 0});
  CHECK(line.run.progress.share == 1);
  REQUIRE(trained.records.size() == 6);  // four steps, an evaluation after each epoch
  CHECK_THAT(trained.records[0]["epoch"].get<double>(), near(0.8));
  CHECK(trained.records[2].contains("eval/loss"));
}

TEST_CASE("train: the learning rate of each step is that of the schedule") {
  LineRun line({1}, {1},
               {"train.epochs=3", "scheduler={name=\"multi_step\", milestones=[\"1step\"], gamma=0.5}"});
  Line expected;
  expected.step({{1, 1}}, 0.1);
  expected.step({{1, 1}}, 0.05);
  expected.step({{1, 1}}, 0.05);
  train_line(line);
  CHECK_THAT(line.slope(), near(expected.slope));
}

TEST_CASE("train: a signal ends the run after the step it came in, without an evaluation") {
  LineRun line({1, 2, 3, 4}, {1, 2, 3, 4}, {"loader.batch_size=1", "optimizer.lr=0.01"});
  const Trained trained =
      train_line(line, {.signal = [&] { return line.run.progress.step >= 2 ? SIGTERM : 0; }, .folder = {}});
  CHECK(trained.end.outcome == Outcome::interrupted);
  CHECK(trained.end.signal == SIGTERM);
  CHECK(line.run.progress.step == 2);
  for (const auto& record : trained.records) CHECK_FALSE(record.contains("eval/loss"));
  CHECK_FALSE(line.run.ended);  // it can be continued
}

TEST_CASE("train: what is left of an interrupted run gives the weights of a whole one") {
  const std::vector<std::string> settings{"loader.batch_size=1", "train.epochs=2", "optimizer.lr=0.01"};
  LineRun whole({1, 2, 3}, {3, 1, 2}, settings), parts({1, 2, 3}, {3, 1, 2}, settings);
  train_line(whole);
  train_line(parts, {.signal = [&] { return parts.run.progress.step == 4 ? SIGINT : 0; }, .folder = {}});
  REQUIRE(parts.run.progress.step == 4);
  CHECK(train_line(parts).end.outcome == Outcome::finished);
  CHECK(parts.slope() == whole.slope());
  CHECK(parts.offset() == whole.offset());
}

TEST_CASE("train: a limit on the steps ends it early") {
  LineRun line({1, 2, 3, 4}, {1, 2, 3, 4}, {"loader.batch_size=1", "optimizer.lr=0.01"});
  CHECK(train_line(line, {.signal = {}, .folder = {}, .steps = 3}).end.outcome == Outcome::finished);
  CHECK(line.run.progress.step == 3);
}

TEST_CASE("train: a hook that asks to stop is heard after the step, and its reason is kept") {
  LineRun line({1, 2, 3, 4}, {1, 2, 3, 4},
               {"loader.batch_size=1", "eval.every=1step", "optimizer.lr=0.01",
                "hook+={name=\"early_stop\", metric=\"eval/loss\", patience=1, min_delta=1000.0}"});
  const Trained trained = train_line(line);
  CHECK(trained.end.outcome == Outcome::stopped);
  CHECK_THAT(trained.end.reason, ContainsSubstring("eval/loss"));
  CHECK(line.run.progress.step == 2);  // the first evaluation is the best so far, the second no better
  CHECK(line.run.ended == trained.end.reason);
}

TEST_CASE("train: what a hook asks of the next update on one rank waits on all ranks, and all do it",
          "[ranks]") {
  const LineRun line({1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}, {"loader.batch_size=1", "optimizer.lr=0.001"});
  std::array<bool, 2> waiting{};
  std::array<Progress, 2> progress{};
  testing::on_ranks(2, [&](World& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    const std::filesystem::path folder = line.files.folder / std::to_string(rank);
    std::filesystem::create_directory(folder);
    Run run(line.recipe, world);
    if (rank == 1) run.hooks.push_back(std::make_unique<SkipSecond>());
    train_in(folder, run, {.signal = {}, .folder = {}, .steps = 1});
    waiting[rank] = run.requests.save().integers.contains("skip_update");
    run.ended.reset();  // the limit was only for this test
    train_in(folder, run);
    progress[rank] = run.progress;
  });
  for (std::size_t rank = 0; rank < 2; ++rank) {
    INFO("rank " << rank);
    CHECK(waiting[rank]);
    CHECK(progress[rank].skipped_steps == 1);
  }
}

TEST_CASE("train: hooks that need what local_sgd does not have are refused", "[ranks]") {
  const std::string hook = GENERATE("ema", "gradient_noise");
  const LineRun line({1, 2}, {1, 2}, {"distributed.strategy=local_sgd", "hook+=" + hook});  // alone it may
  const auto errors = testing::try_on_ranks(2, [&](World& world) { const Run run(line.recipe, world); });
  CHECK_THAT(testing::message_of(errors[0]), ContainsSubstring("Hook \"" + hook + "\"") &&
                                                 ContainsSubstring("local_sgd") &&
                                                 ContainsSubstring("choose another strategy"));
}

TEST_CASE("train: data that is not finite is the cause that is given, also if a hook stops the run") {
  LineRun line({1, std::nanf("")}, {1, 2}, {"loader.batch_size=1", "hook+=nan_guard"});
  const Trained trained = train_line(line);
  CHECK(trained.end.outcome == Outcome::failed);
  CHECK(trained.end.reason ==
        "the loss is not a number in step 2, because inputs of its batch are not finite numbers: correct the "
        "data, which `runner data` examines");
}

TEST_CASE("train: a loss that is not finite ends the run with the weights of the step before") {
  LineRun line({1, 2}, {1e18F, 2e18F}, {"loader.batch_size=1", "train.epochs=5", "optimizer.lr=1000000.0"});
  const Trained trained = train_line(line);
  CHECK(trained.end.outcome == Outcome::failed);
  CHECK_THAT(trained.end.reason, ContainsSubstring("diverged"));
  CHECK(std::isfinite(line.slope()));
}
