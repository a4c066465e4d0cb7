// What a run and its earlier attempts leave in its folder: records, weights, results.
#include "runner/train/train_recipe.hpp"

#include "registry/base/log.hpp"
#include "runner/checkpoint/checkpoint_store.hpp"
#include "runner/predict/load_run.hpp"
#include "runner/train/best_files.hpp"
#include "tests/runner/train/short_runs.hpp"

using namespace runner;
using namespace runner::testing;
using namespace runner::testing::short_runs;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

TEST_CASE("the best weights of an attempt are not those of a run that no longer keeps any") {
  Runs runs;
  runs.train({"eval.every=2step", R"(checkpoint.best={metric="eval/loss"})"}, {.interrupt_at = 5});
  REQUIRE(find_weights(runs.folder(), "") == runs.file("best.safetensors"));
  const bool starts_over = GENERATE(false, true);
  if (starts_over) runs.forget_checkpoints();
  CHECK(runs.train({"eval.every=2step"}).outcome == Outcome::finished);
  CHECK(find_weights(runs.folder(), "") == runs.file("model.safetensors"));
}

TEST_CASE("the time of a run continues where its last attempt stopped, and the log lists what was restored") {
  Runs runs;
  runs.interrupt_after(4);
  const CheckpointStore store(runs.folder());
  Checkpoint aged = read_checkpoint(store.path_of(4));
  aged.states.at("progress").numbers.at("seconds") = 1000;  // as if four steps had taken so long
  fs::remove_all(store.path_of(4));
  store.write(*store.begin(4, 100), aged, {}, 2);
  runs.train();
  std::ifstream metrics(runs.file("metrics.jsonl"));
  double last = 0;
  for (std::string line; std::getline(metrics, line);) last = nlohmann::json::parse(line)["time"];
  CHECK(last >= 1000);
  CHECK_THAT(read_text(runs.file("log.txt")),
             ContainsSubstring("model (") && ContainsSubstring("optimizer") &&
                 ContainsSubstring("progress") && ContainsSubstring("journal"));
}

TEST_CASE("a run is saved and logged when that is due and at its end, not oftener") {
  Runs runs;
  runs.train({"checkpoint.keep=100", "train.max_steps=8", "train.log_every=3step"});
  const CheckpointStore store(runs.folder());
  CHECK(store.all() == std::vector{store.path_of(8), store.path_of(6), store.path_of(3)});
  CHECK(logged_steps(runs.file("metrics.jsonl")) == std::vector<std::int64_t>{3, 6, 8});
}

TEST_CASE("best.safetensors is the best of those that are kept, also after one was damaged") {
  Runs runs;
  const std::vector<std::string> overrides{"optimizer.lr=20", "eval.every=1step",
                                           R"(checkpoint.best={metric="eval/loss", keep=9})"};
  const auto require_best = [&] {
    const auto all = BestFiles(runs.folder()).all();
    REQUIRE(all.size() > 1);
    for (const auto& one : all) CHECK(one.damage.empty());
    CHECK(fs::equivalent(runs.file("best.safetensors"), all.front().file));
    return all.front().file;
  };
  runs.train(overrides, {.interrupt_at = 4});
  const fs::path best = require_best();
  fs::resize_file(best, 20);
  log::clear_warnings();
  runs.train(overrides);
  REQUIRE_FALSE(log::warnings().empty());
  CHECK_THAT(log::warnings().front(), ContainsSubstring("it no longer counts as one of the best"));
  CHECK(require_best() != best);
  log::clear_warnings();
}

TEST_CASE("weights that are no longer finite are neither evaluated nor saved") {
  Runs runs;
  const bool evaluates = GENERATE(false, true);
  const RunResult result =
      runs.train({"optimizer.lr=1e30", R"(optimizer.group=[{match="*", lr_multiplier=1e15}])",
                  "checkpoint.every=1step", evaluates ? "eval.every=1step" : "eval.every=never"});
  CHECK(result.outcome == Outcome::failed);
  CHECK_THAT(result.message, ContainsSubstring("the weights are no longer finite"));
  CHECK(CheckpointStore(runs.folder()).all().empty());
  CHECK_FALSE(fs::exists(runs.file("model.safetensors")));
  CHECK(read_text(runs.file("metrics.jsonl")).find("eval/") == std::string::npos);
}

TEST_CASE("what a killed attempt trained after its last checkpoint is lost time") {
  Runs runs;
  runs.interrupt_after(4);
  std::ofstream(runs.file("metrics.jsonl"), std::ios::app)
      << R"({"step":5,"epoch":1.25,"time":1000.0,"train/loss":1.0})" << "\n";
  runs.train();
  const double lost = runs.result()["time"]["lost to restarts"];
  CHECK((lost > 900 && lost <= 1000));
}

TEST_CASE("a resumed run that cannot be built says so in result.json and in its log") {
  Runs runs;
  runs.interrupt_after(4);
  CHECK_THROWS(runs.train({"tracker+=unbuildable_in_tests"}));
  CHECK(runs.result()["outcome"] == "failed");
  CHECK(runs.result()["steps"] == 4);  // what the run reached is still true
  CHECK_THAT(read_text(runs.file("log.txt")), ContainsSubstring("error: "));
  CHECK(runs.train().outcome == Outcome::finished);
}

TEST_CASE("a resumed run does not keep the weights of the attempt before") {
  Runs runs;
  runs.interrupt_after(4);
  CHECK(fs::exists(runs.file("model.safetensors")));
  fs::remove(runs.file("metrics.jsonl"));
  fs::create_directory(runs.file("metrics.jsonl"));  // fails after the run has been restored
  CHECK_THROWS(runs.train());
  CHECK_FALSE(fs::exists(runs.file("model.safetensors")));
}

TEST_CASE("a run that fails while it starts says why in result.json and in its log") {
  Runs runs;
  runs.interrupt_after(4);
  fs::remove(runs.file("metrics.jsonl"));
  fs::create_directory(runs.file("metrics.jsonl"));
  CHECK_THROWS(runs.train());
  const auto result = nlohmann::json::parse(read_text(runs.file("result.json")));
  CHECK(result["outcome"] == "failed");
  CHECK_THAT(std::string(result["message"]), ContainsSubstring("metrics.jsonl"));
  CHECK_THAT(read_text(runs.file("log.txt")), ContainsSubstring("metrics.jsonl"));
}
