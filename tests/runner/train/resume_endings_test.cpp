// How runs end, and how they continue afterwards: failures, time limits, hooks that stop them, changed
// recipes.
#include <atomic>
#include <catch2/catch_all.hpp>
#include <csignal>

#include "components/datasets/dataset.hpp"
#include "components/hooks/hook.hpp"
#include "tests/support/resumed_runs.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

namespace {

// Fails in the call that a test names, once, from the sixth update on. Leaves a note after every step.
std::string failing_call;
std::atomic<bool> data_is_gone;  // after the first update, if the failing call is "next batch"

struct Failing {};
constexpr auto describe(std::type_identity<Failing>) { return fields(); }

class FailingHook final : public Hook {
 public:
  void after_step(const Progress& progress, Requests& requests) override {
    step_ = progress.step;
    requests.note({"note", "a step"});
    data_is_gone = failing_call == "next batch";
    fail_in("after_step");
  }
  void after_eval_batch(const Batch&, const torch::Tensor&) override { fail_in("after_eval_batch"); }
  void after_eval(const Progress&, const Measurements&, Requests&) override { fail_in("after_eval"); }
  State save() const override { return {}; }
  void load(const State&) override {}

 private:
  void fail_in(const std::string& call) const {
    if (call != failing_call || step_ < 6) return;
    failing_call.clear();
    throw std::runtime_error("failed in " + call);
  }

  std::int64_t step_ = 0;
};

std::unique_ptr<Hook> build(const Failing&, const HookInputs&) { return std::make_unique<FailingHook>(); }
const Registration<HookKind> failing{"failing_in_tests", "Fails when a test wants it to.", &build};

// Its examples can be read until data_is_gone.
class FadingSplit final : public Split {
 public:
  std::int64_t size() const override { return 32; }
  DataSpec spec() const override { return {.input_shape = {4}, .classes = 2, .train_examples = size()}; }
  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    if (data_is_gone) throw std::runtime_error("the disk is gone");
    const auto count = static_cast<std::int64_t>(examples.size());
    batch.input.narrow(0, first, count).fill_(1);
    batch.target.narrow(0, first, count).fill_(1);
  }
};

class FadingData final : public Dataset {
 public:
  DataSpec spec() const override { return FadingSplit().spec(); }
  Splits open(const TransformPipeline&) const override {
    return {.train = std::make_unique<FadingSplit>(), .eval = std::make_unique<FadingSplit>()};
  }
};

struct Fading {};
constexpr auto describe(std::type_identity<Fading>) { return fields(); }
std::unique_ptr<Dataset> build(const Fading&, const DatasetInputs&) { return std::make_unique<FadingData>(); }
const Registration<DatasetKind> fading{"fading_in_tests", "Is gone after a while.", &build};

// Settings of an optimizer that are on or off, and the value that is not the default.
std::vector<std::pair<std::string, bool>> switches_of(const std::string& optimizer) {
  const Registry registry = Registry::of_linked();
  std::vector<std::pair<std::string, bool>> switches;
  for (const FieldInfo& field : registry.find("optimizer", optimizer)->schema().fields) {
    if (field.type.kind == TypeInfo::Kind::boolean && field.default_value)
      switches.emplace_back(field.name, !*field.default_value->as<bool>());
  }
  return switches;
}

}  // namespace

TEST_CASE("resume: a run that failed continues as if it had not, wherever a hook or an evaluation threw",
          "[resume]") {
  for (const char* call : {"after_step", "after_eval_batch", "after_eval"}) {
    DYNAMIC_SECTION(call) {
      const Recipes files(table_recipe);
      const std::vector<std::string> overrides{
          R"(hook=[{name="failing_in_tests"},{name="ema"},{name="early_stop", metric="eval/loss", patience=50}])",
          R"(checkpoint.best={metric="eval/loss"})", "checkpoint.every=4step"};
      const fs::path whole = files.folder / "whole", resumed = files.folder / "resumed";
      train_in(files, whole, overrides);
      failing_call = call;
      CHECK_THROWS_WITH(train_in(files, resumed, overrides), Catch::Matchers::ContainsSubstring(call));
      train_in(files, resumed, overrides);
      require_equal_runs(whole, resumed);
      CHECK(read_text(whole / "texts.jsonl") == read_text(resumed / "texts.jsonl"));
    }
  }
}

TEST_CASE("resume: an evaluation that was repeated is recorded once, even if the step after it fails",
          "[resume]") {
  const Recipes files(table_recipe);
  const std::vector<std::string> overrides{R"(hook=[{name="failing_in_tests"}])"};
  const fs::path whole = files.folder / "whole", resumed = files.folder / "resumed";
  train_in(files, whole, overrides);
  for (const char* call :
       {"after_eval_batch", "after_step"}) {  // the second attempt begins with the evaluation
    failing_call = call;
    CHECK_THROWS_WITH(train_in(files, resumed, overrides), Catch::Matchers::ContainsSubstring(call));
  }
  train_in(files, resumed, overrides);
  require_equal_runs(whole, resumed);
}

TEST_CASE("resume: what hooks report at the end of an interrupted run is not kept", "[resume]") {
  const Recipes files(table_recipe);
  const fs::path whole = files.folder / "whole", resumed = files.folder / "resumed";
  const std::vector<std::string> overrides{"hook=[" + usual_part("lr_finder") + "]"};
  train_in(files, whole, overrides);
  train_in(files, resumed, overrides, 5);
  REQUIRE(fs::exists(resumed / "texts.jsonl"));  // the part of the curve that exists so far
  train_in(files, resumed, overrides);
  require_equal_runs(whole, resumed);
  CHECK(read_text(whole / "texts.jsonl") == read_text(resumed / "texts.jsonl"));
}

TEST_CASE("resume: a last evaluation that was repeated is not repeated by every further start", "[resume]") {
  const Recipes files(table_recipe);
  const fs::path whole = files.folder / "whole", resumed = files.folder / "resumed";
  const std::vector<std::string> overrides{R"(hook=[{name="failing_in_tests"}])", "eval.every=13step",
                                           "checkpoint.at_end=false"};
  train_in(files, whole, overrides);
  failing_call = "after_eval_batch";
  CHECK_THROWS_WITH(train_in(files, resumed, overrides),
                    Catch::Matchers::ContainsSubstring("after_eval_batch"));
  train_in(files, resumed, overrides);
  CHECK(last_state(resumed)["progress"]["texts"].contains("ended"));
  train_in(files, resumed, overrides);
  CHECK(records(whole) == records(resumed));
}

TEST_CASE("resume: weights that are not finite are not saved when a run fails", "[resume]") {
  const bool diverges = GENERATE(false, true);
  const Recipes files(R"(
model = "mlp"
dataset = "fading_in_tests"
loader = { batch_size = 8, shuffle = false }
optimizer = { name = "sgd", momentum = 0.0 }
train = { max_steps = 4 }
eval = { every = "never" }
checkpoint = { every = "1000step" }
)");
  const fs::path run = files.folder / "run";
  failing_call = "next batch";
  CHECK_THROWS_WITH(train_in(files, run,
                             {diverges ? "optimizer={lr=1e30, weight_decay=1e30}" : "optimizer.lr=0.1",
                              "hook=[failing_in_tests]"}),
                    Catch::Matchers::ContainsSubstring("the disk is gone"));
  failing_call.clear();
  data_is_gone = false;
  CHECK(fs::exists(run / "checkpoints/latest") == !diverges);
}

TEST_CASE("resume: a run of no steps keeps its records when it is repeated", "[resume]") {
  const Recipes files(table_recipe);
  const fs::path run = files.folder / "run";
  train_in(files, run, {"train.max_steps=0"});
  const auto before = records(run);
  REQUIRE_FALSE(before.empty());
  train_in(files, run, {"train.max_steps=0"});
  CHECK(records(run) == before);
}

TEST_CASE("resume: a run that a hook has stopped stays stopped if nothing that decides about it changes",
          "[resume]") {
  const Recipes files(table_recipe);
  const fs::path run = files.folder / "run";
  std::vector<std::string> stopping{"optimizer.lr=1e-9", "eval.every=2step", "train.max_steps=12",
                                    R"(hook=[{name="early_stop", metric="eval/loss", patience=1}])"};
  const auto with = [&](const std::string& change) {
    std::vector<std::string> overrides = stopping;
    if (!change.empty()) overrides.push_back(change);
    return train_in(files, run, overrides);
  };
  const RunResult first = with("");
  REQUIRE(first.outcome == Outcome::stopped);
  const RunResult again = with("loader.workers=1");
  CHECK(again.outcome == Outcome::stopped);
  CHECK(again.steps == first.steps);
  CHECK(again.message == first.message);
  stopping.emplace_back("train.max_steps=14");
  const RunResult longer = with("");
  CHECK(longer.steps > first.steps);
  CHECK(with("train.max_time=9h").steps > longer.steps);
}

TEST_CASE("a search of learning rates that ends at gradients beyond the range of fp16 has not failed") {
  const Recipes files(table_recipe);
  const RunResult result = train_in(files, files.folder / "run",
                                    {"precision=fp16", "train.max_steps=40",
                                     R"(hook=[{name="lr_finder", steps=30, highest=1e20, diverged=1e30}])"});
  CHECK(result.outcome == Outcome::stopped);
}

TEST_CASE("resume: a time limit interrupts the run, and the same command continues it", "[resume]") {
  const Recipes files(table_recipe);
  const fs::path whole = files.folder / "whole", resumed = files.folder / "resumed";
  const auto limit = [](const char* hours) {
    return R"(hook=[{name="time_limit", margin="10h", limit=")" + std::string(hours) + R"("}])";
  };
  train_in(files, whole, {limit("1000h")});
  for (std::int64_t step = 1; step < 4; ++step) {  // each process has time for one step
    const RunResult result = train_in(files, resumed, {limit("10.000001h")});
    CHECK(result.outcome == Outcome::interrupted);
    CHECK(result.exit_code() == 128 + SIGTERM);
    CHECK_THAT(result.message, Catch::Matchers::ContainsSubstring("time limit"));
    CHECK(result.steps == step);
  }
  CHECK(train_in(files, resumed, {limit("1000h")}, {}, /*force=*/true).outcome == Outcome::finished);
  require_equal_runs(whole, resumed);
}

TEST_CASE("resume: a run that a hook stopped continues with another recipe", "[resume]") {
  const Recipes files(table_recipe);
  const fs::path run = files.folder / "run";
  const auto patience = [](int evaluations) {
    return R"(hook=[{name="early_stop", metric="eval/loss", min_delta=1000.0, patience=)" +
           std::to_string(evaluations) + "}]";
  };
  const RunResult stopped = train_in(files, run, {patience(1)});
  CHECK(stopped.outcome == Outcome::stopped);
  REQUIRE(stopped.steps < last_step);
  CHECK(train_in(files, run, {patience(1)}).steps == stopped.steps);  // it has ended
  const RunResult continued = train_in(files, run, {patience(50)}, {}, /*force=*/true);
  CHECK(continued.outcome == Outcome::finished);
  CHECK(continued.steps == last_step);
}

TEST_CASE(
    "resume: a recipe that changes the course is refused unless it is forced, and one that does not fit "
    "always is",
    "[resume]") {
  Recipes files(table_recipe);
  const fs::path run = files.folder / "run";
  train_in(files, run, {}, 6);
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(train_in(files, run, {"optimizer.lr=0.5"}),
                    ContainsSubstring("optimizer.lr") && ContainsSubstring("--force"));
  CHECK_THROWS_WITH(train_in(files, run, {"model.hidden=[8]"}),
                    ContainsSubstring("model.hidden") && ContainsSubstring("impossible"));
  const RunResult longer = train_in(files, run, {"train.max_steps=15", "train.log_every=1step"});  // harmless
  CHECK(longer.steps == 15);
}

TEST_CASE("resume: --force continues with a changed recipe, from the restored state", "[resume]") {
  Recipes files(table_recipe);
  const fs::path run = files.folder / "run", plain = files.folder / "plain";
  train_in(files, plain, {});
  train_in(files, run, {}, 6);
  const RunResult forced = train_in(files, run, {"optimizer.lr=0.5"}, {}, /*force=*/true);
  CHECK(forced.steps == last_step);
  const auto before = records(plain), after = records(run);
  REQUIRE(before.size() == after.size());
  CHECK(before.front() == after.front());  // up to the checkpoint
  CHECK(before.back() != after.back());
}

TEST_CASE("resume: what the saved state of an optimizer does not fit is marked as impossible", "[resume]") {
  for (const std::string& name : Registry::of_linked().names("optimizer")) {
    for (const auto& [key, value] : switches_of(name)) {
      DYNAMIC_SECTION(name << " " << key) {
        Recipes files(table_recipe);
        const fs::path run = files.folder / "run";
        const std::string start = "optimizer={name=\"" + name + "\", lr=0.01";
        train_in(files, run, {start + "}"}, 3);
        try {
          train_in(files, run, {start + ", " + key + "=" + (value ? "true" : "false") + "}"}, 4, true);
        } catch (const std::exception& error) {
          CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("impossible"));
        }
      }
    }
  }
}
