#include "runner/train/feed.hpp"

#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "tests/support/line_run.hpp"

using namespace runner;
using testing::LineRun;

namespace {

Feed feed_of(const LineRun& line, Cursor start = {}) {
  return Feed(*line.run.data.train, training_options(line.recipe, line.run.engine),
              line.recipe.train.accumulation_steps, start);
}

// The inputs of all micro-batches, one after the other.
std::vector<float> inputs(const TrainingWindow& next) {
  std::vector<float> all;
  for (const Batch& batch : next.window.batches) {
    const torch::Tensor flat = batch.input.flatten().contiguous();
    all.insert(all.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  }
  return all;
}

}  // namespace

TEST_CASE("feed: a window has accumulation_steps batches and never reaches into the next epoch") {
  const LineRun line({1, 2, 3, 4, 5}, {0, 0, 0, 0, 0}, {"train.accumulation_steps=2"});
  Feed feed = feed_of(line);

  const TrainingWindow first = feed.next();
  CHECK(inputs(first) == std::vector<float>{1, 2, 3, 4});
  CHECK(first.window.sizes_of_batches == std::vector<std::int64_t>{2, 2});
  CHECK(first.examples == 4);
  CHECK(first.end == Cursor{0, 4});

  const TrainingWindow second = feed.next();  // what is left of the epoch
  CHECK(inputs(second) == std::vector<float>{5});
  CHECK(second.examples == 1);
  CHECK(second.end == Cursor{1, 0});
  CHECK(inputs(feed.next()) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("feed: the seed of a window depends on its place in the data, not on where the feed began") {
  const LineRun line({1, 2, 3, 4, 5}, {0, 0, 0, 0, 0}, {"train.accumulation_steps=2", "loader.shuffle=true"});
  Feed whole = feed_of(line);
  const TrainingWindow first = whole.next(), second = whole.next(), third = whole.next();
  CHECK(first.window.seed != second.window.seed);
  CHECK(first.window.seed != third.window.seed);  // the same place of another epoch

  Feed resumed = feed_of(line, first.end);
  const TrainingWindow again = resumed.next();
  CHECK(again.window.seed == second.window.seed);
  CHECK(inputs(again) == inputs(second));
  CHECK(inputs(resumed.next()) == inputs(third));
}

TEST_CASE("feed: batches count the examples of each rank, or of all ranks together") {
  const World four({.rank = 0, .size = 4});
  const LineRun each({1, 2}, {0, 0}), together({1, 2}, {0, 0}, {"distributed.batch=global"});
  CHECK(global_batch_size(each.recipe, four) == 8);
  CHECK(global_batch_size(together.recipe, four) == 2);
  CHECK(global_batch_size(each.recipe, World()) == 2);
}

TEST_CASE("feed: what the recipe says of loading reaches the loader") {
  const LineRun plain({1, 2}, {0, 0}), other({1, 2}, {0, 0},
                                             {"loader.eval_batch_size=7", "loader.prefetch=9",
                                              "loader.on_error=skip", "run.seed=5", "loader.shuffle=true"});
  using Broken = LoaderOptions::Broken;
  const LoaderOptions usual = training_options(plain.recipe, plain.run.engine);
  CHECK(usual.workers == 0);  // on a CPU the threads that compute assemble the batches
  CHECK(usual.broken == Broken::stop);
  CHECK_FALSE(usual.epochs);
  CHECK(evaluation_options(plain.recipe, plain.run.engine).batch_size == 2);

  const LoaderOptions training = training_options(other.recipe, other.run.engine);
  CHECK(training.shuffle);
  CHECK(training.workers == 1);  // what reads ahead needs a thread
  CHECK(training.prefetch == 9);
  CHECK(training.broken == Broken::replace);
  CHECK(training.seed == 5);
  const LoaderOptions evaluation = evaluation_options(other.recipe, other.run.engine);
  CHECK(evaluation.batch_size == 7);
  CHECK(evaluation.epochs == 1);
  CHECK(evaluation.broken == Broken::skip);
  CHECK_FALSE(evaluation.shuffle);
}
