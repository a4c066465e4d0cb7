#include <algorithm>
#include <catch2/catch_all.hpp>
#include <nlohmann/json.hpp>

#include "tests/runner/cli/program.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner::testing {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

std::vector<fs::path> shipped_recipes() {
  std::vector<fs::path> recipes;
  for (const auto& entry : fs::directory_iterator(source_folder() / "recipes")) {
    if (entry.path().extension() == ".toml") recipes.push_back(entry.path());
  }
  std::ranges::sort(recipes);
  return recipes;
}

const std::string small = R"([model]
name = "simple_cnn"
[dataset]
name = "shapes"
[optimizer]
name = "sgd"
lr = 0.25
[train]
epochs = 3
)";

TEST_CASE("every recipe that comes with the program is right", "[cli]") {
  for (const fs::path& recipe : shipped_recipes()) {
    const Outcome outcome = Program{}.run({"check", recipe.string()});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("what show prints is shown as itself", "[cli]") {
  const TemporaryFolder folder;
  const Program program;
  const auto recipes = shipped_recipes();
  REQUIRE_FALSE(recipes.empty());
  for (const fs::path& recipe : recipes) {
    INFO(recipe);
    const Outcome first = program.run({"show", recipe.string()});
    REQUIRE(first.code == 0);
    const fs::path again = write_file(folder / recipe.filename().string(), first.out);
    const Outcome second = program.run({"show", again.string()});
    CHECK(second.err.empty());
    CHECK(second.out == first.out);
    CHECK(program.run({"show", recipe.string(), "--diff", again.string()}).out == "no difference\n");
  }
}

TEST_CASE("origins say where each value came from", "[cli]") {
  const TemporaryFolder folder;
  const std::string recipe = write_file(folder / "small.toml", small).string();
  Program program;
  program.environment["RUNNER_LOADER__BATCH_SIZE"] = "7";
  const Outcome outcome = program.run({"show", recipe, "run.seed=5", "--origins"});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("lr = 0.25  # " + recipe + ":7:6"));
  CHECK_THAT(outcome.out, ContainsSubstring("seed = 5  # argument run.seed\n"));
  CHECK_THAT(outcome.out, ContainsSubstring("batch_size = 7  # environment RUNNER_LOADER__BATCH_SIZE"));
  CHECK_THAT(outcome.out, ContainsSubstring("shuffle = true  # default"));
}

TEST_CASE("a difference names both values and their places", "[cli]") {
  const TemporaryFolder folder;
  const std::string one = write_file(folder / "one.toml", small).string();
  const std::string other =
      write_file(folder / "other.toml", "extends = \"one.toml\"\n[[tracker]]\nname = \"csv\"\n").string();
  const Outcome outcome = Program{}.run({"show", one, "optimizer.lr=0.5", "--diff", other});
  CHECK_THAT(outcome.out, ContainsSubstring("- optimizer.lr = 0.5  # argument optimizer.lr\n"
                                            "+ optimizer.lr = 0.25  # "));
  CHECK_THAT(outcome.out, ContainsSubstring("+ tracker.0.name = \"csv\""));
  CHECK_THAT(outcome.out, !ContainsSubstring("train.epochs"));
}

TEST_CASE("show for programs", "[cli]") {
  const TemporaryFolder folder;
  const std::string recipe = write_file(folder / "small.toml", small).string();
  const auto json = nlohmann::json::parse(Program{}.run({"show", recipe, "--json"}).out);
  CHECK(json["optimizer"]["lr"] == 0.25);
  CHECK(json["train"]["epochs"] == 3);
  const auto difference =
      nlohmann::json::parse(Program{}.run({"show", recipe, "run.seed=3", "--json", "--diff", recipe}).out);
  CHECK(difference == nlohmann::json::parse(R"([{"key": "run.seed", "this": 3, "other": 0}])"));
}

TEST_CASE("a difference does not show a password", "[cli]") {
  const TemporaryFolder folder;
  const std::string recipe = write_file(folder / "small.toml", small).string();
  const std::string dataset = "dataset={name=\"cifar10\", url=\"http://me:hunter22@localhost/x.tar.gz\"}";
  for (const bool as_json : {false, true}) {
    std::vector<std::string> words{"show", recipe, dataset, "--diff", recipe};
    if (as_json) words.emplace_back("--json");
    const Outcome outcome = Program{}.run(words);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, ContainsSubstring("dataset.url") && ContainsSubstring("(secret)") &&
                                !ContainsSubstring("hunter22"));
  }
}

TEST_CASE("a word replaces a table, and a table a word, if either is allowed", "[cli]") {
  const TemporaryFolder folder;
  const auto shown = [&](const std::string& written, const std::vector<std::string>& overrides) {
    const std::string text = small + "[loss]\nname = \"cross_entropy\"\nclass_weights = " + written + "\n";
    std::vector<std::string> words{"show", write_file(folder / "weights.toml", text).string()};
    words.insert(words.end(), overrides.begin(), overrides.end());
    const Outcome outcome = Program{}.run(words);
    return outcome.out + outcome.err;
  };
  const std::string key = "loss.class_weights";
  CHECK_THAT(shown("{ square = 4 }", {key + "=balanced"}),
             ContainsSubstring("class_weights = \"balanced\"\n"));
  const auto only_circle = ContainsSubstring("[loss.class_weights]\ncircle = 3.0\n\n");
  CHECK_THAT(shown("\"balanced\"", {key + "={circle=3}"}), only_circle);
  CHECK_THAT(shown("\"balanced\"", {key + ".circle=3"}), only_circle);
  CHECK_THAT(shown("{ square = 4 }", {key + ".circle=3"}),
             ContainsSubstring("[loss.class_weights]\nsquare = 4.0\ncircle = 3.0\n"));
  CHECK_THAT(shown("{ square = 4 }", {key + "=balanced", key + ".circle=3"}),
             ContainsSubstring("loss.class_weights must be a table of number"));
}

TEST_CASE("a word is not taken for the name of a section, nor for a key of a table", "[cli]") {
  const TemporaryFolder folder;
  const std::string recipe = write_file(folder / "small.toml", small).string();
  CHECK_THAT(Program{}.run({"show", recipe, "train=short"}).err,
             ContainsSubstring("train must be a table, not a string (\"short\")"));
  const std::string files = "dataset={name=\"text_classification\", files={a=\"a.txt\", b=\"b.txt\"}}";
  CHECK_THAT(Program{}.run({"show", recipe, files, "dataset.files=all.txt"}).err,
             ContainsSubstring("dataset.files must be a table of path, not a string (\"all.txt\")"));
}

TEST_CASE("a recipe that is wrong is not shown", "[cli]") {
  const TemporaryFolder folder;
  const std::string recipe = write_file(folder / "small.toml", small).string();
  const Outcome outcome = Program{}.run({"show", recipe, "optimizer.lr=-1"});
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, ContainsSubstring("optimizer.lr must be above 0"));
}

}  // namespace
}  // namespace runner::testing
