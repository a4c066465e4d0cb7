// Where a run in an existing folder starts, and what happens to that folder when it cannot be continued.
#include "runner/train/run_start.hpp"

#include <catch2/catch_all.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/resolve.hpp"
#include "tests/support/files.hpp"
#include "tests/support/recipes.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr const char* recipe_text = R"(
model = "mlp"
[dataset]
name = "synthetic"
shape = [4]
train = 32
eval = 8
[loader]
batch_size = 8
[optimizer]
name = "sgd"
momentum = 0.0
[train]
max_steps = 6
log_every = "1step"
[checkpoint]
every = "3step"
)";

class Runs {
 public:
  RunResult train(std::vector<std::string> overrides = {}, TrainOptions options = {}) {
    options.quiet = true;
    Diagnostics found;
    overrides.push_back("run.dir=" + folder().string());
    const auto resolved = resolve_recipe({files_.folder / "main.toml", {}, overrides}, registry_, found);
    INFO(render(found));
    REQUIRE(resolved);
    World alone;
    return train_recipe(*resolved, registry_, alone, options);
  }
  fs::path folder() const { return files_.folder / "run"; }
  fs::path file(const std::string& name) const { return folder() / name; }

  void interrupt_after(std::int64_t step) { train({}, {.interrupt_at = step}); }
  // As a kill before the first checkpoint leaves it.
  void forget_checkpoints() {
    fs::remove_all(file("checkpoints"));
    fs::remove(file("result.json"));
  }

 private:
  Recipes files_{recipe_text};
  Registry registry_ = Registry::of_linked();
};

std::vector<std::int64_t> logged_steps(const fs::path& metrics) {
  std::vector<std::int64_t> steps;
  std::ifstream file(metrics);
  for (std::string line; std::getline(file, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.contains("train/loss")) steps.push_back(record["step"]);
  }
  return steps;
}

}  // namespace

TEST_CASE("a run that was killed before its first checkpoint starts over; other files in its folder stay") {
  Runs runs;
  runs.interrupt_after(2);
  runs.forget_checkpoints();
  std::ofstream(runs.file("notes.txt")) << "mine";
  CHECK(runs.train().outcome == RunResult::Outcome::finished);
  CHECK(logged_steps(runs.file("metrics.jsonl")) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(read_text(runs.file("notes.txt")) == "mine");
}

TEST_CASE("damaged checkpoints are neither deleted nor ignored") {
  Runs runs;
  runs.interrupt_after(4);
  fs::path damaged;
  for (const auto& entry : fs::directory_iterator(runs.file("checkpoints"))) {
    if (!entry.is_directory() || entry.is_symlink()) continue;
    damaged = entry.path() / "model.safetensors";
    fs::resize_file(damaged, fs::file_size(damaged) / 2);
  }
  const auto size = fs::file_size(damaged);
  CHECK_THROWS_WITH(runs.train(), ContainsSubstring("damaged") && ContainsSubstring("run.dir"));
  CHECK(fs::file_size(damaged) == size);
}

TEST_CASE("a checkpoint that does not fit the recipe leaves the run as it was") {
  Runs runs;
  runs.interrupt_after(4);
  const std::string recipe = read_text(runs.file("recipe.toml")),
                    result = read_text(runs.file("result.json")),
                    metrics = read_text(runs.file("metrics.jsonl"));
  // Momentum is state of the optimizer that the checkpoint does not have.
  CHECK_THROWS(runs.train({"optimizer.momentum=0.9"}, {.force = true}));
  CHECK(read_text(runs.file("recipe.toml")) == recipe);
  CHECK(read_text(runs.file("result.json")) == result);
  CHECK(read_text(runs.file("metrics.jsonl")) == metrics);
  CHECK_THAT(read_text(runs.file("log.txt")), ContainsSubstring("error: "));
  CHECK(runs.train().outcome == RunResult::Outcome::finished);
}

TEST_CASE("a finished run without a checkpoint is not started over") {
  Runs runs;
  runs.train({"checkpoint.every=never"});
  CHECK_THROWS_WITH(runs.train({"checkpoint.every=never"}), ContainsSubstring("finished run"));
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
