#include "runner/train/evaluate.hpp"

#include <catch2/catch_all.hpp>

#include "registry/base/log.hpp"
#include "tests/support/line_run.hpp"
#include "tests/support/ranks.hpp"

using namespace runner;
using testing::LineRun;

namespace {

auto near(double value) { return Catch::Matchers::WithinRel(value, 1e-5); }

// The model answers 0 to everything, so that the loss is the mean of y squared.
const std::vector<float> x{1, 2, 3}, y{2, 4, 9};
constexpr double whole = (4 + 16 + 81) / 3.0;

// Of which some examples cannot be read.
class BrokenSplit final : public Split {
 public:
  BrokenSplit(std::unique_ptr<Split> split, std::int64_t readable)
      : split_(std::move(split)), readable_(readable) {}

  std::int64_t size() const override { return split_->size(); }
  DataSpec spec() const override { return split_->spec(); }
  Batch allocate(std::int64_t examples, torch::MemoryFormat format) const override {
    return split_->allocate(examples, format);
  }
  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    for (const ExampleRef& example : examples)
      if (example.index >= readable_) throw DataError("broken.");
    split_->read(examples, batch, first);
  }

 private:
  std::unique_ptr<Split> split_;
  std::int64_t readable_;
};

}  // namespace

TEST_CASE("evaluate: every example counts once, in a short last batch too") {
  LineRun line(x, y);
  const Evaluation found = evaluate(line.run);
  REQUIRE(found.measurements.size() == 1);
  CHECK(found.measurements[0].first == "eval/loss");
  CHECK_THAT(found.measurements[0].second, near(whole));
  CHECK_FALSE(found.broken_off);
  CHECK_THAT(evaluate(line.run).measurements[0].second, near(whole));  // metrics begin anew
}

TEST_CASE("evaluate: only the first batches, where that is asked for") {
  LineRun line(x, y);
  CHECK_THAT(evaluate(line.run, 1).measurements[0].second, near((4 + 16) / 2.0));
  CHECK_THAT(evaluate(line.run, 100).measurements[0].second, near(whole));
}

TEST_CASE("evaluate: tells its share before each batch, and can be broken off") {
  LineRun line(x, y);
  std::vector<double> shares;
  const auto until = [&](std::size_t calls) {
    shares.clear();
    return evaluate(line.run, {}, [&, calls](double share) {
      shares.push_back(share);
      return shares.size() < calls;
    });
  };
  CHECK_FALSE(until(3).broken_off);
  CHECK(shares == std::vector<double>{0, 0.5});
  const Evaluation broken = until(2);
  CHECK(broken.broken_off);
  CHECK(broken.measurements.empty());
}

TEST_CASE("evaluate: what is not a number comes as text, under the name of its metric") {
  testing::Recipes files(R"(
[model]
name = "mlp"
[dataset]
name = "synthetic"
shape = [4]
classes = 2
train = 4
eval = 4
[optimizer]
name = "sgd"
[train]
max_steps = 1
[[eval.metric]]
name = "confusion_matrix"
)");
  const Recipe recipe = testing::decoded_recipe(files);
  World alone;
  Run run(recipe, alone);
  const Evaluation found = evaluate(run);
  REQUIRE(found.texts.size() == 1);
  CHECK(found.texts[0].first == "eval/confusion_matrix");
  CHECK_FALSE(found.texts[0].second.empty());
}

TEST_CASE("evaluate: several ranks measure what one does, each with the whole result") {
  const LineRun alone(x, y, {"loader.batch_size=1"});
  testing::on_ranks(2, [&](World& world) {
    Run run(alone.recipe, world);
    {
      const torch::NoGradGuard no_grad;
      for (torch::Tensor& parameter : run.engine.model().parameters()) parameter.zero_();
    }
    const double found = evaluate(run).measurements.at(0).second;
    if (std::abs(found - whole) > 1e-6) throw std::runtime_error("measured " + std::to_string(found));
  });
}

TEST_CASE("evaluate: a rank that is asked to stop breaks it off on all ranks") {
  const LineRun alone(x, y, {"loader.batch_size=1"});
  testing::on_ranks(2, [&](World& world) {
    Run run(alone.recipe, world);
    const Evaluation found = evaluate(run, {}, [&](double) { return world.rank() == 0; });
    if (!found.broken_off || !found.measurements.empty())
      throw std::runtime_error("rank " + std::to_string(world.rank()) + " went on");
  });
}

TEST_CASE("evaluate: examples that cannot be read are counted, and reported once") {
  LineRun line(x, y, {"loader.on_error=skip"});
  CHECK(evaluate(line.run).examples == 3);
  CHECK(evaluate(line.run).unreadable == 0);
  line.run.data.eval = std::make_unique<BrokenSplit>(std::move(line.run.data.eval), 1);
  log::clear_warnings();
  const Evaluation found = evaluate(line.run);
  CHECK(found.examples == 1);
  CHECK(found.unreadable == 2);
  CHECK_THAT(found.measurements[0].second, near(4));
  const auto told = [](const std::string& warning) {
    return warning.find("2 of 3 validation examples could not be read") != std::string::npos;
  };
  CHECK(std::ranges::count_if(log::warnings(), told) == 1);
}

TEST_CASE("evaluate: every rank knows how many examples all of them evaluated") {
  const LineRun alone(x, y, {"loader.batch_size=1", "loader.on_error=skip"});
  testing::on_ranks(2, [&](World& world) {
    Run run(alone.recipe, world);
    run.data.eval = std::make_unique<BrokenSplit>(std::move(run.data.eval), 2);
    const Evaluation found = evaluate(run);
    if (found.examples != 2 || found.unreadable != 1)
      throw std::runtime_error(std::to_string(found.examples) + " and " + std::to_string(found.unreadable));
  });
}
