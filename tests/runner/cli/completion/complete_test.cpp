#include "runner/cli/completion/complete.hpp"

#include <algorithm>
#include <catch2/catch_all.hpp>

#include "tests/runner/cli/program.hpp"
#include "tests/support/files.hpp"
#include "tests/support/in_folder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner::cli {
namespace {

using Words = std::vector<std::string>;

const std::string recipe_text = R"([model]
name = "simple_cnn"
[dataset]
name = "shapes"
[[dataset.transform]]
name = "random_crop"
[optimizer]
name = "sgd"
[train]
epochs = 3
[[tracker]]
name = "csv"
)";

class Completion {
 public:
  Words operator()(Words words) const {
    for (std::string& word : words) {
      if (word == "RECIPE") word = recipe;
    }
    std::ostringstream out, err;
    const Session session{registry, {}, out, err, {}, {}};
    Words texts;
    for (const Candidate& candidate : candidates(std::move(words), session)) texts.push_back(candidate.text);
    return texts;
  }

  testing::TemporaryFolder folder;
  std::string recipe = testing::write_file(folder / "r.toml", recipe_text).string();
  Registry registry = Registry::of_linked();
};

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

TEST_CASE("the first word may be a command or a recipe", "[cli]") {
  const Completion complete;
  CHECK(complete({"che"}) == Words{"check", "checkpoint", "checkpoints"});
  CHECK_FALSE(has(complete({""}), "__complete"));
  CHECK(complete({"--ver"}) == Words{"--version"});
  CHECK(complete({complete.folder.path().string() + "/r"}) == Words{complete.recipe});
}

TEST_CASE("options and their values", "[cli]") {
  const Completion complete;
  CHECK(complete({"show", "RECIPE", "--d"}) == Words{"--diff"});
  CHECK(complete({"new", "--optimizer", "sg"}) == Words{"sgd"});
  CHECK(complete({"new", "--optimizer=sg"}) == Words{"--optimizer=sgd"});
  CHECK(complete({"list", "--"}) == Words{"--help", "--json", "--plugin"});
}

TEST_CASE("kinds, components and sections", "[cli]") {
  const Completion complete;
  CHECK(complete({"describe", "sec"}) == Words{"section"});
  CHECK(complete({"list", "sec"}).empty());
  CHECK(complete({"describe", "optimizer", "sg"}) == Words{"sgd"});
  CHECK(complete({"describe", "section", "tr"}) == Words{"tracker", "train"});
  CHECK(complete({"describe", "optimizer", "sgd", ""}).empty());
}

TEST_CASE("keys are those of the part that the recipe chooses", "[cli]") {
  const Completion complete;
  CHECK(complete({"run", "RECIPE", "optimizer.mom"}) == Words{"optimizer.momentum="});
  CHECK(complete({"RECIPE", "optimizer.mom"}) == Words{"optimizer.momentum="});
  CHECK(complete({"RECIPE", "optimizer=adamw", "optimizer.mom"}).empty());
  CHECK(has(complete({"RECIPE", "optimizer=adamw", "optimizer."}), "optimizer.betas="));
  CHECK(complete({"RECIPE", "dataset.transform.0.pad_"}) == Words{"dataset.transform.0.pad_if_needed="});
  CHECK(complete({"RECIPE", "tracker"}) == Words{"tracker+=", "tracker."});
  CHECK(complete({"RECIPE", "tracker."}) == Words{"tracker.0.", "tracker.0="});
  CHECK(complete({"RECIPE", "schedule"}) == Words{"scheduler.", "scheduler="});
  CHECK(has(complete({"RECIPE", "scheduler."}), "scheduler.warmup="));  // of the default
  CHECK(has(complete({"RECIPE", "checkpoint.best."}), "checkpoint.best.metric="));
}

TEST_CASE("values of choices, booleans and parts", "[cli]") {
  const Completion complete;
  CHECK(complete({"RECIPE", "run.deterministic="}) ==
        Words{"run.deterministic=false", "run.deterministic=true"});
  CHECK(complete({"RECIPE", "loader.on_error=s"}) == Words{"loader.on_error=skip", "loader.on_error=stop"});
  CHECK(complete({"RECIPE", "optimizer=sg"}) == Words{"optimizer=sgd"});
  CHECK(complete({"RECIPE", "optimizer.name=sg"}) == Words{"optimizer.name=sgd"});
  CHECK(complete({"RECIPE", "tracker+=cs"}) == Words{"tracker+=csv"});
  CHECK(complete({"RECIPE", "optimizer.lr="}).empty());
  CHECK(complete({"RECIPE", "no.such.key="}).empty());
}

TEST_CASE("deletions", "[cli]") {
  const Completion complete;
  CHECK(complete({"RECIPE", "~trac"}) == Words{"~tracker"});
  CHECK(complete({"RECIPE", "~optimizer.mom"}) == Words{"~optimizer.momentum"});
}

TEST_CASE("recipes that are known by name", "[cli]") {
  const Completion complete;
  testing::write_file(complete.folder / "recipes/own_recipe.toml", recipe_text);
  const testing::InFolder here(complete.folder.path());
  for (const char* command : {"check", "show", "new"}) CHECK(has(complete({command, "own_"}), "own_recipe"));
  CHECK(complete({"own_recipe", "optimizer.mom"}) == Words{"optimizer.momentum="});
  CHECK(complete({"check", "own_recipe", "optimizer.mom"}) == Words{"optimizer.momentum="});
}

TEST_CASE("a recipe that is wrong or not there still completes", "[cli]") {
  const Completion complete;
  CHECK(complete({"no_such.toml", "train.ep"}) == Words{"train.epochs="});
  CHECK(complete({"RECIPE", "nonsense", "optimizer.mom"}) == Words{"optimizer.momentum="});
  CHECK(complete({}).size() > 5);
}

}  // namespace
}  // namespace runner::cli
