#include "runner/runs/run_record.hpp"

#include <catch2/catch_all.hpp>
#include <cmath>

#include "runner/runs/condition.hpp"
#include "runner/runs/metrics_file.hpp"
#include "runner/runs/run_folder.hpp"
#include "runner/runs/run_texts.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using testing::TemporaryFolder;
using testing::write_file;

const std::string recipe = R"([run]
name = "cats"
[optimizer]
name = "sgd"
lr = 0.01
[[eval.metric]]
name = "accuracy"
)";

TEST_CASE("metrics are read as far as they are whole, and on from there", "[runs]") {
  const TemporaryFolder folder;
  const auto file =
      write_file(folder / "metrics.jsonl",
                 "{\"step\":1,\"epoch\":0.5,\"time\":2,\"train/loss\":3.5}\n"
                 "this is no JSON\n"
                 "{\"step\":2,\"epoch\":1,\"time\":4,\"train/loss\":\"NaN\",\"eval/accuracy\":0.25}\n"
                 "{\"step\":3,\"epo");
  MetricsFile metrics(file);
  std::vector<Record> records;
  const auto keep = [&](const Record& record) { records.push_back(record); };
  metrics.read(keep);
  REQUIRE(records.size() == 2);
  CHECK(records[0].step == 1);
  CHECK(records[0].epoch == 0.5);
  CHECK(records[0].time == 2);
  CHECK(records[0].values == std::vector<std::pair<std::string, double>>{{"train/loss", 3.5}});
  CHECK(std::isnan(records[1].values[0].second));
  std::ofstream(file, std::ios::app) << "ch\":1.5,\"time\":5,\"train/loss\":1}\n";
  metrics.read(keep);
  REQUIRE(records.size() == 3);
  CHECK(records[2].step == 3);
  bool restarted = false;
  write_file(file, "{\"step\":9,\"epoch\":1,\"time\":1}\n");
  metrics.read(keep, [&] { restarted = true; });
  CHECK(restarted);
  CHECK(records.back().step == 9);
}

TEST_CASE("a record whose step is not a number is skipped", "[runs]") {
  const TemporaryFolder folder;
  MetricsFile metrics(write_file(folder / "metrics.jsonl",
                                 "{\"step\":null,\"train/loss\":1}\n"
                                 "{\"step\":\"NaN\",\"train/loss\":2}\n"
                                 "{\"step\":1e300,\"train/loss\":3}\n"
                                 "{\"step\":7,\"train/loss\":4}\n"));
  std::vector<std::int64_t> steps;
  metrics.read([&](const Record& record) { steps.push_back(record.step); });
  CHECK(steps == std::vector<std::int64_t>{7});
}

TEST_CASE("a run folder is read whatever is in it", "[runs]") {
  const TemporaryFolder folder;
  write_file(folder / "recipe.toml", recipe);
  RunRecord run = read_run(folder.path());
  CHECK(run.name == "cats");
  CHECK(run.status == "unknown");  // nobody writes it
  CHECK(run.setting("optimizer.lr") == "0.01");
  write_file(folder / "metrics.jsonl",
             "{\"step\":5,\"epoch\":1,\"time\":2,\"eval/"
             "accuracy\":0.5}\n{\"step\":10,\"epoch\":2,\"time\":4,\"eval/accuracy\":0.4}\n");
  RunSummaryLine line = summarize(run);
  CHECK(line.steps == 10);
  REQUIRE(line.best);
  CHECK(line.best->metric == "eval/accuracy");
  CHECK(line.best->at.value == 0.5);
  CHECK(line.best->at.step == 5);
  write_file(
      folder / "result.json",
      R"({"outcome":"failed","message":"no space","steps":12,"epochs":2.5,"seconds":7,"best":{"metric":"eval/f1","value":0.7,"step":3,"epoch":1},"last":{"eval/f1":0.6},"unknown":[1]})");
  run = read_run(folder.path());
  CHECK(run.status == "failed");
  CHECK(run.message == "no space");
  line = summarize(run);
  CHECK(line.steps == 12);
  CHECK(line.best->metric == "eval/f1");
  write_file(folder / "result.json", R"({"outcome":"finished","steps":1e300})");
  write_file(folder / "run.json", R"({"id":"abc","started_at":1e300})");
  run = read_run(folder.path());
  CHECK(run.started > 1700000000);  // when the recipe was saved
  CHECK(summarize(run).steps == 0);
  write_file(folder / "result.json", "{\"outcome\": \"fin");
  CHECK(read_run(folder.path()).status == "unknown");
  const RunFolder writer = RunFolder::open(folder.path());
  CHECK(read_run(folder.path()).status == "running");
}

TEST_CASE("runs are found below a folder, and not inside each other", "[runs]") {
  const TemporaryFolder folder;
  for (const char* name : {"a/1", "a/2", "b", "b/inner"})
    write_file(folder / (std::string(name) + "/recipe.toml"), recipe);
  std::filesystem::create_directories(folder / "no_recipe/checkpoints/step-00000004");
  for (const char* file : {"recipe.toml", "manifest.json"})
    write_file(folder / "no_recipe/checkpoints/step-00000004" / file, "");
  const auto found = find_runs(folder.path());
  REQUIRE(found.size() == 3);
  CHECK(found[0] == folder / "a/1");
  CHECK(found[2] == folder / "b");
}

TEST_CASE("runs are chosen by conditions on recipe and results", "[runs]") {
  const TemporaryFolder folder;
  write_file(folder / "recipe.toml", recipe);
  const RunRecord run = read_run(folder.path());
  const RunSummaryLine line{.steps = 100};
  const auto holds = [&](const char* text) { return Condition::parse(text).holds(run, line); };
  CHECK(holds("optimizer.name=sgd"));
  CHECK_FALSE(holds("optimizer.name=adam"));
  CHECK(holds("optimizer.name!=adam"));
  CHECK(holds("optimizer.lr=1e-2"));
  CHECK(holds("optimizer.lr<0.1"));
  CHECK_FALSE(holds("optimizer.lr>=0.1"));
  CHECK(holds("steps>99"));
  CHECK_FALSE(holds("best>0"));
  const RunSummaryLine tiny{.seconds = 0.25, .best = BestValue{"eval/loss", {2e-7, 1, 1}}};
  CHECK(Condition::parse("best<1e-6").holds(run, tiny));
  CHECK(Condition::parse("best>1e-7").holds(run, tiny));
  CHECK_FALSE(Condition::parse("best=0").holds(run, tiny));
  CHECK(Condition::parse("best=2e-7").holds(run, tiny));
  CHECK(Condition::parse("duration<1").holds(run, tiny));
  CHECK(Condition::parse("duration<1min").holds(run, tiny));
  CHECK_FALSE(Condition::parse("duration>1h").holds(run, tiny));
  for (const char* wrong : {"best=good", "steps>1h", "duration<1step"})
    CHECK_THROWS_AS(Condition::parse(wrong), std::invalid_argument);
  CHECK_FALSE(holds("no.such.key=1"));
  CHECK_THROWS_AS(Condition::parse("optimizer.name"), std::invalid_argument);
  CHECK_THROWS_AS(Condition::parse("=3"), std::invalid_argument);
}

TEST_CASE("a run started when its first attempt did", "[runs]") {
  const TemporaryFolder folder;
  write_file(folder / "recipe.toml", recipe);
  CHECK(read_run(folder.path()).started > 1700000000);  // as good as it gets: when the recipe was saved
  write_file(folder / "run.json", R"({"id":"abc","started_at":1700000000.5})");
  CHECK(read_run(folder.path()).started == 1700000000);
}

TEST_CASE("the better direction is what the run declared, not what the name of the metric suggests",
          "[runs]") {
  const TemporaryFolder folder;
  write_file(folder / "recipe.toml", "[[eval.metric]]\nname = \"wer\"\n");
  write_file(folder / "metrics.jsonl",
             "{\"step\":5,\"epoch\":1,\"time\":2,\"eval/wer\":0.5}\n"
             "{\"step\":10,\"epoch\":2,\"time\":4,\"eval/wer\":0.4}\n");
  write_file(folder / "result.json",
             R"({"outcome":"finished","objective":{"metric":"eval/wer","mode":"min"}})");
  const RunRecord run = read_run(folder.path());
  REQUIRE(run.objective());
  CHECK_FALSE(run.objective()->highest);
  CHECK(summarize(run).best.value().at.value == 0.4);
}

TEST_CASE("every metric whose direction the run tells has a best value", "[runs]") {
  const TemporaryFolder folder;
  write_file(folder / "recipe.toml", "");
  write_file(folder / "metrics.jsonl",
             "{\"step\":5,\"epoch\":1,\"time\":2,\"eval/wer\":0.5,\"eval/accuracy\":0.8,\"eval/size\":1}\n"
             "{\"step\":10,\"epoch\":2,\"time\":4,\"eval/wer\":0.4,\"eval/accuracy\":0.7,\"eval/size\":2}\n");
  const RunMetrics metrics = read_metrics(folder.path());
  CHECK(read_run(folder.path()).best_values(metrics).empty());
  write_file(folder / "result.json",
             R"({"better":{"eval/wer":"min","eval/accuracy":"max","eval/gone":"max"}})");
  const auto best = read_run(folder.path()).best_values(metrics);
  REQUIRE(best.size() == 2);
  CHECK((best.at("eval/wer").value == 0.4 && best.at("eval/wer").step == 10));
  CHECK((best.at("eval/accuracy").value == 0.8 && best.at("eval/accuracy").step == 5));
  write_file(folder / "result.json", R"({"better":["eval/wer"]})");
  CHECK(read_run(folder.path()).best_values(metrics).empty());
}

TEST_CASE("warnings are taken from the log, each once", "[runs]") {
  const TemporaryFolder folder;
  const auto warnings = warnings_in(write_file(folder / "log.txt",
                                               "2026-01-31 12:00:00.123 info: eval/confusion_matrix\nold\n"
                                               "2026-01-31 12:00:01.123 warning: odd\n"
                                               "2026-01-31 12:00:01.500 warning: odd\n"
                                               "2026-01-31 12:00:03.123 warning: a message of\ntwo lines\n"));
  CHECK(warnings == std::vector<std::string>{"odd", "a message of\ntwo lines"});
}

TEST_CASE("the last text of each tag is taken from texts.jsonl, whatever tag and text are", "[runs]") {
  const TemporaryFolder folder;
  const auto texts =
      read_texts(write_file(folder / "texts.jsonl",
                            "{\"step\":1,\"tag\":\"eval/confusion_matrix\",\"text\":\"old\"}\n"
                            "{\"step\":1,\"tag\":\"with a space\",\"text\":\"one line\"}\n"
                            "no JSON\n"
                            "{\"step\":1,\"tag\":7,\"text\":\"of a number\"}\n"
                            "{\"step\":1,\"tag\":\"a list\",\"text\":[1]}\n"
                            "{\"step\":2,\"tag\":\"eval/confusion_matrix\",\"text\":\"a\\nb\"}\n"
                            "{\"step\":3,\"ta"));
  using Texts = std::vector<std::pair<std::string, std::string>>;
  CHECK(texts == Texts{{"eval/confusion_matrix", "a\nb"}, {"with a space", "one line"}});
  CHECK(read_texts(folder / "missing").empty());
}

}  // namespace
}  // namespace runner
