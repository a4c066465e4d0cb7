// Runs of a few steps in one folder, which are interrupted, damaged and continued.
#pragma once

#include <catch2/catch_all.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "runner/resolve/resolve.hpp"
#include "runner/train/train_recipe.hpp"
#include "tests/support/files.hpp"
#include "tests/support/recipes.hpp"

namespace runner::testing::short_runs {

namespace fs = std::filesystem;

inline constexpr const char* recipe_text = R"(
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

  nlohmann::json result() const { return nlohmann::json::parse(read_text(file("result.json"))); }

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

// Every file, by its path, except the log.
inline std::map<fs::path, std::string> contents_of(const fs::path& folder) {
  std::map<fs::path, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().filename() != "log.txt")
      contents[entry.path()] = read_text(entry.path());
  return contents;
}

inline std::vector<std::int64_t> logged_steps(const fs::path& metrics) {
  std::vector<std::int64_t> steps;
  std::ifstream file(metrics);
  for (std::string line; std::getline(file, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.contains("train/loss")) steps.push_back(record["step"]);
  }
  return steps;
}

}  // namespace runner::testing::short_runs
