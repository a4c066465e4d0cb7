#include <catch2/catch_all.hpp>
#include <nlohmann/json.hpp>

#include "registry/base/log.hpp"
#include "tests/runner/cli/program.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::json;

const std::string right = R"([model]
name = "simple_cnn"
[dataset]
name = "shapes"
[optimizer]
name = "sgd"
[train]
epochs = 3
)";

TEST_CASE("several recipes are all checked, with the same overrides", "[cli]") {
  const TemporaryFolder folder;
  const std::string good = write_file(folder / "good.toml", right).string();
  const std::string bad = write_file(folder / "bad.toml", right + "[loader]\nbatch = 1\n").string();
  const Outcome outcome = Program{}.run({"check", bad, good, "run.seed=1"});
  CHECK(outcome.code == 2);
  CHECK_THAT(outcome.err,
             ContainsSubstring(bad + ":10:1: error: ") && ContainsSubstring(bad + ": 1 error\n"));
  CHECK(outcome.out == good + ": ok\n");
  CHECK_THAT(Program{}.run({"check", good, "run.sed=1"}).err, ContainsSubstring("did you mean \"seed\"?"));
}

TEST_CASE("advice about a value fits the value", "[cli]") {
  const TemporaryFolder folder;
  const std::string recipe = write_file(folder / "recipe.toml", right).string();
  const auto about = [&](const std::string& change) {
    const Program program{.environment = {{"PLACE", "/some/where"}}};
    return program.run({"check", recipe, change}).err;
  };
  CHECK_THAT(about("run.name=${env:PLACE}"),
             ContainsSubstring("cannot be the value of ${env:PLACE};") && !ContainsSubstring("/some/where"));
  CHECK_THAT(about("run.name=${env:PLACE:hush}"), ContainsSubstring("cannot be the value of ${env:PLACE};"));
  for (const char* size : {"-1", "0"})
    CHECK_THAT(about("distributed.bucket_size=" + std::string(size)),
               ContainsSubstring("cannot be " + std::string(size) + ", and needs a unit") &&
                   ContainsSubstring("write \"1MB\", \"1MiB\""));
  CHECK_THAT(about("hook+=[\"ema\",\"swa\"]"), ContainsSubstring("+= adds one entry: hook+=ema hook+=swa"));
  CHECK_THAT(about("hook.0=[\"ema\"]"), !ContainsSubstring("+= adds one entry"));
}

TEST_CASE("a recipe that is not there is compared with others by its name alone", "[cli]") {
  const TemporaryFolder folder;
  write_file(folder / "shapes.toml", right);
  write_file(folder / "e.toml", right);
  const auto about = [&](const char* name) { return Program{}.run({"check", (folder / name).string()}).err; };
  CHECK_THAT(about("nofile.toml"), !ContainsSubstring("did you mean"));
  for (const char* name : {"shape.toml", "shapes", "shapes.tml"})
    CHECK_THAT(about(name), ContainsSubstring("did you mean " + (folder / "shapes.toml").string() + "?"));
}

TEST_CASE("a loss or a metric that does not fit the targets names those that do", "[cli]") {
  const TemporaryFolder folder;
  const std::string recipe = write_file(folder / "recipe.toml", right).string();
  std::string rows = "x,y\n";
  for (int i = 0; i < 20; ++i) rows += std::to_string(i * i % 17) + "," + std::to_string(i) + ".5\n";
  write_file(folder / "table.csv", rows);
  const auto about = [&](std::vector<std::string> settings) {
    settings.insert(settings.begin(), {"check", "--deep", recipe});
    return Program{}.run(settings).err;
  };
  CHECK_THAT(about({"eval.metric+=mae"}), ContainsSubstring("; metrics for these: accuracy, auroc"));
  const std::vector<std::string> numbers{
      "model=mlp", "dataset={name=\"csv\",target=\"y\",task=\"regression\",split=0.2,train=\"" +
                       (folder / "table.csv").string() + "\"}"};
  CHECK_THAT(about(numbers),
             ContainsSubstring("the dataset gives numbers; losses for these: huber, l1, mse."));
  std::vector<std::string> with_metric = numbers;
  with_metric.insert(with_metric.end(), {"loss=mse", "eval.metric+=f1"});
  CHECK_THAT(about(with_metric), ContainsSubstring("; metrics for these: mae, r2, rmse."));
  with_metric.back() = "eval.metric+=perplexity";
  CHECK_THAT(about(with_metric), ContainsSubstring("metric \"perplexity\" needs tokens"));
  CHECK_THAT(about({"loss=bce_with_logits", "model=mlp"}),
             ContainsSubstring("for which there is cross_entropy"));
  CHECK_THAT(about({"model=autoencoder"}),
             ContainsSubstring("choose a model that gives one output for each class"));
}

TEST_CASE("a deep check warns about the data once", "[cli]") {
  const TemporaryFolder folder;
  const std::string recipe = write_file(folder / "recipe.toml", right).string();
  std::string rows = "x,y\n";
  for (int i = 0; i < 20; ++i) rows += std::to_string(i) + (i % 2 ? ",a\n" : ",b\n");
  write_file(folder / "table.csv", rows);
  log::clear_warnings();
  const Outcome outcome = Program{}.run(
      {"check", "--deep", recipe, "model=mlp",
       "dataset={name=\"csv\",target=\"y\",split=0.2,train=\"" + (folder / "table.csv").string() + "\"}"});
  CHECK(outcome.code == 0);
  CHECK(log::warnings().size() == 1);  // the column that counts the rows
}

TEST_CASE("every command finds a recipe by its name, unless there is a file with that name", "[cli]") {
  const TemporaryFolder folder;
  const std::string mine = write_file(folder / "recipes/mine.toml", right).string();
  const Program program{.environment = {{"RUNNER_PLUGIN_PATH", folder.path().string()}}};
  CHECK(program.run({"check", "mine", "run.seed=1"}).out == mine + ": ok\n");
  CHECK_THAT(program.run({"show", "mine"}).out, ContainsSubstring("simple_cnn"));
  CHECK(program.run({"check", "min"}).code == 2);
  CHECK(Program{}.run({"check", "mine"}).code == 2);
}

TEST_CASE("check for programs gives places that can be jumped to", "[cli]") {
  const TemporaryFolder folder;
  const std::string bad = write_file(folder / "bad.toml", right + "[loader]\nbatch = 1\n").string();
  const Outcome outcome = Program{}.run({"check", bad, "--json", "run.seed=-1"});
  CHECK(outcome.code == 2);
  CHECK(outcome.err.empty());
  const Json json = Json::parse(outcome.out);
  CHECK(json["ok"] == false);
  const Json& diagnostics = json["recipes"][0]["diagnostics"];
  REQUIRE(diagnostics.size() == 2);
  CHECK(diagnostics[0]["place"]["argument"] == "run.seed");
  CHECK(diagnostics[1]["place"] == Json{{"file", bad}, {"line", 10}, {"column", 1}, {"length", 5}});
  CHECK(diagnostics[1]["severity"] == "error");
  CHECK(diagnostics[1]["see"] == "runner describe section loader");
}

TEST_CASE("a recipe of bytes that are no text still gives valid JSON", "[cli]") {
  const TemporaryFolder folder;
  const std::string bad = write_file(folder / "bad.toml", "\xff\xfe = 1\n").string();
  CHECK_NOTHROW(Json::parse(Program{}.run({"check", bad, "--json"}).out));
  CHECK_NOTHROW(Json::parse(Program{}.run({"check", "no\xff.toml", "--json"}).out));
}

TEST_CASE("averaging that starts after the end of the run is reported before the run", "[cli]") {
  const TemporaryFolder folder;
  const std::string recipe = write_file(folder / "right.toml", right).string();
  const auto said = [&](const std::string& from, const std::string& more) {
    return Program{}.run({"check", recipe, "hook=[{name=\"swa\", from=\"" + from + "\"}]", more}).err;
  };
  CHECK_THAT(said("4ep", "run.seed=1"),
             ContainsSubstring("warning: ") && ContainsSubstring("train.epochs=3"));
  CHECK_THAT(said("100step", "train.max_steps=99"), ContainsSubstring("train.max_steps=99"));
  CHECK(said("3ep", "run.seed=1").empty());
  CHECK(said("100step", "run.seed=1").empty());  // how many steps an epoch has only the data tells
}

TEST_CASE("a batch of one example that batch norm cannot train on is found by a deep check", "[cli]") {
  const TemporaryFolder folder;
  std::string rows = "x,y\n";
  for (int i = 0; i < 41; ++i) rows += std::to_string(i * 7 % 41) + (i % 2 ? ",yes\n" : ",no\n");
  write_file(folder / "train.csv", rows);
  const std::string recipe = write_file(folder / "table.toml", R"(
model = { name = "tabular", batch_norm = true }
dataset = { name = "csv", train = "train.csv", eval = "train.csv", target = "y" }
optimizer = "sgd"
train = { epochs = 1 }
)")
                                 .string();
  const auto checked = [&](const std::string& change) {
    return Program{}.run({"check", "--deep", recipe, change});
  };
  CHECK_THAT(checked("loader.batch_size=20").err,
             ContainsSubstring("41 training examples in batches of 20 make a batch of a single example"));
  CHECK(checked("loader.batch_size=20").code == 2);
  CHECK(checked("loader.batch_size=39").code == 0);
}

TEST_CASE("overrides without a recipe are refused", "[cli]") {
  const Outcome outcome = Program{}.run({"check", "optimizer.lr=1"});
  CHECK(outcome.code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("no recipe is named"));
}

TEST_CASE("a file that looks like an override is a recipe where it exists", "[cli]") {
  const TemporaryFolder folder;
  const std::string odd = write_file(folder / "lr=1.toml", right).string();
  CHECK(Program{}.run({"check", odd}).code == 0);
}

}  // namespace
}  // namespace runner::testing
