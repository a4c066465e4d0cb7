// Where a run in an existing folder starts, and what happens to that folder when it cannot be continued.
#include "runner/train/run_start.hpp"

#include "components/trackers/tracker.hpp"
#include "registry/base/log.hpp"
#include "registry/files/io_error.hpp"
#include "tests/runner/train/short_runs.hpp"

using namespace runner;
using namespace runner::testing;
using namespace runner::testing::short_runs;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

struct Unbuildable {};
constexpr auto describe(std::type_identity<Unbuildable>) { return fields(); }
std::unique_ptr<Tracker> build(const Unbuildable&, const TrackerInputs&) {
  throw IoError("no such server");  // unlike a std::runtime_error, not a mistake in the recipe
}
const Registration<TrackerKind> unbuildable{"unbuildable_in_tests", "Cannot be built.", &build};

}  // namespace

TEST_CASE("a run that was killed before its first checkpoint starts over; other files in its folder stay") {
  Runs runs;
  runs.interrupt_after(2);
  runs.forget_checkpoints();
  std::ofstream(runs.file("notes.txt")) << "mine";
  CHECK(runs.train().outcome == Outcome::finished);
  CHECK(logged_steps(runs.file("metrics.jsonl")) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(read_text(runs.file("notes.txt")) == "mine");
}

TEST_CASE("a record that was logged after the checkpoint of the same step is not there twice") {
  Runs runs;
  runs.interrupt_after(4);
  // As an attempt that was killed after a skipped update, which advances the epoch, leaves it.
  std::ofstream(runs.file("metrics.jsonl"), std::ios::app)
      << R"({"step":4,"epoch":1.25,"time":1.0,"train/loss":1.0})" << "\n";
  runs.train();
  CHECK(logged_steps(runs.file("metrics.jsonl")) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("parameters that a hook has frozen are trained again if the hook is gone, or ends earlier") {
  const std::vector<std::string> later =
      GENERATE(std::vector<std::string>{},
               std::vector<std::string>{R"(hook=[{name="freeze", match=["*.bias"], until="3step"}])"});
  const auto frozen = [](const Runs& runs, std::int64_t step) {
    const auto saved = read_checkpoint(CheckpointStore(runs.folder()).path_of(step));
    return saved.states.at("engine").parts.at("frozen").parts.size();
  };
  Runs runs;
  runs.train({R"(hook=[{name="freeze", match=["*.bias"], until="5step"}])"}, {.interrupt_at = 4});
  REQUIRE(frozen(runs, 4) > 0);
  runs.train(later, {.force = true});
  CHECK(frozen(runs, 6) == 0);
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

TEST_CASE("a run whose checkpoints cannot be reached does not start over") {
  Runs runs;
  runs.interrupt_after(4);
  fs::rename(runs.file("checkpoints"), runs.folder().parent_path() / "other disk");
  const auto refuses = [&](const fs::path& goal, const std::string& why) {
    fs::remove(runs.file("checkpoints"));
    fs::create_symlink(goal, runs.file("checkpoints"));
    const auto before = contents_of(runs.folder());
    CHECK_THROWS_WITH(runs.train(), ContainsSubstring(why));
    CHECK(contents_of(runs.folder()) == before);
  };
  refuses("not mounted", "Cannot read the folder");
  refuses(runs.folder().parent_path() / "not mounted", "runner trust path");
}

TEST_CASE("a checkpoint that does not fit the recipe leaves the run as it was") {
  Runs runs;
  runs.interrupt_after(4);
  const CheckpointStore store(runs.folder());
  const fs::path newest = store.path_of(4);
  Checkpoint changed = read_checkpoint(newest);
  changed.states.erase("requests");
  fs::remove_all(newest);
  store.write(*store.begin(4, 100), changed, {}, 2);
  const std::string recipe = read_text(runs.file("recipe.toml")),
                    result = read_text(runs.file("result.json")),
                    metrics = read_text(runs.file("metrics.jsonl"));
  CHECK_THROWS_WITH(runs.train(), ContainsSubstring("has no state \"requests\""));
  CHECK(read_text(runs.file("recipe.toml")) == recipe);
  CHECK(read_text(runs.file("result.json")) == result);
  CHECK(read_text(runs.file("metrics.jsonl")) == metrics);
  CHECK_THAT(read_text(runs.file("log.txt")), ContainsSubstring("error: "));
  fs::remove_all(newest);
  CHECK(runs.train().outcome == Outcome::finished);
}

TEST_CASE("a checkpoint with a state that the run does not have is refused by name") {
  Runs runs;
  runs.interrupt_after(4);
  const CheckpointStore store(runs.folder());
  Checkpoint changed = read_checkpoint(store.path_of(4));
  changed.states["telepathy"].integers["thoughts"] = 3;
  fs::remove_all(store.path_of(4));
  store.write(*store.begin(4, 100), changed, {}, 2);
  CHECK_THROWS_WITH(runs.train(),
                    ContainsSubstring("has a state \"telepathy\", which this run does not have"));
}

TEST_CASE("a manifest of another step is damage, and no record is lost by it") {
  Runs runs;
  runs.train();
  const fs::path manifest = runs.file("checkpoints/step-00000006/manifest.json");
  auto changed = nlohmann::json::parse(read_text(manifest));
  changed["step"] = 5;
  write_file(manifest, changed.dump());
  CHECK_THAT(damage_of(manifest.parent_path()), ContainsSubstring("different steps"));
  const auto steps = logged_steps(runs.file("metrics.jsonl"));
  runs.train();
  CHECK(logged_steps(runs.file("metrics.jsonl")) == steps);
}

TEST_CASE("a resumed run says that records before its checkpoint are missing, and only then") {
  Runs runs;
  runs.interrupt_after(4);
  log::clear_warnings();
  runs.interrupt_after(5);
  CHECK(log::warnings().empty());
  fs::remove(runs.file("metrics.jsonl"));
  runs.train();
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(
      log::warnings().front(),
      ContainsSubstring("ends at step 0, but the run had recorded step 5: some of its records are lost"));
  log::clear_warnings();
}

TEST_CASE(
    "the first checkpoint of a resumed run has the metrics of the last evaluation, of the attempt before") {
  Runs runs;
  const auto metrics_of = [&](const char* checkpoint) {
    return read_summary(runs.file("checkpoints") / checkpoint).metrics;
  };
  runs.train({"eval.every=3step"}, {.interrupt_at = 4});
  runs.train({"eval.every=3step"}, {.interrupt_at = 5});
  CHECK(metrics_of("step-00000004").contains("eval/loss"));
  CHECK(metrics_of("step-00000005") == metrics_of("step-00000004"));
}

TEST_CASE("a start from a checkpoint of another run is noted before anything else can fail") {
  Runs first, second;
  first.train();
  const fs::path from = first.file("checkpoints/step-00000006");
  CHECK_THROWS(second.train({"tracker+=unbuildable_in_tests"}, {.resume_from = from}));
  CHECK(noted_start(second.folder()) == from);
  second.train({"train.max_steps=8"});  // as `runner resume` does
  CHECK(logged_steps(second.file("metrics.jsonl")) == std::vector<std::int64_t>{7, 8});
  const auto id = [](const Runs& runs) {
    return nlohmann::json::parse(read_text(runs.file("run.json")))["id"];
  };
  CHECK(id(first) != id(second));  // two runs for every tracking server
}

TEST_CASE("the note of a start that was cut short does not count for a run that starts from nothing") {
  Runs runs;
  fs::create_directories(runs.folder());
  write_file(runs.file("started_from.txt"), "/of/another/run/checkpoints/latest\n");
  runs.interrupt_after(4);
  CHECK_FALSE(noted_start(runs.folder()));
}

TEST_CASE("a path with a line end is noted as a whole") {
  const TemporaryFolder folder;
  CHECK_FALSE(noted_start(folder.path()));
  write_file(folder / "started_from.txt", "/two\nlines/step-00000006\n");
  CHECK(noted_start(folder.path()) == fs::path("/two\nlines/step-00000006"));
}

TEST_CASE("a start that failed can be repeated in the same folder, with what failed put right") {
  Runs runs;
  CHECK_THROWS_WITH(runs.train({"tracker+=unbuildable_in_tests"}), ContainsSubstring("no such server"));
  CHECK(fs::exists(runs.file("recipe.toml")));
  CHECK(runs.result()["outcome"] == "failed");
  CHECK(runs.train().outcome == Outcome::finished);
}

TEST_CASE("latest leads to the checkpoint that the run continues from") {
  Runs runs;
  runs.interrupt_after(4);
  const fs::path latest = runs.file("checkpoints/latest");
  const auto newest = fs::read_symlink(latest);
  fs::remove(latest);
  fs::create_directory_symlink("step-00000001", latest);
  const auto start = [&] { CHECK_THROWS(runs.train({"tracker+=unbuildable_in_tests"})); };
  start();  // saves nothing
  CHECK(fs::read_symlink(latest) == newest);
  fs::resize_file(runs.file("checkpoints") / newest / "model.safetensors", 20);
  start();
  CHECK(fs::read_symlink(latest) == "step-00000003");
}

TEST_CASE("a run that was started from a checkpoint of another run is continued by the same command") {
  Runs first;
  first.interrupt_after(4);
  const fs::path given = first.file("checkpoints/latest");
  Runs second;
  second.train({}, {.resume_from = given, .interrupt_at = 5});
  SECTION("from its own checkpoint") {
    const std::string end = GENERATE("", "/");  // as shells complete the name of a folder
    CHECK(second.train({}, {.resume_from = given.string() + end}).outcome == Outcome::finished);
    CHECK(logged_steps(second.file("metrics.jsonl")) == std::vector<std::int64_t>{5, 6});
  }
  SECTION("from the same start, without one of its own") {
    second.forget_checkpoints();
    CHECK(second.train().outcome == Outcome::finished);
    CHECK(logged_steps(second.file("metrics.jsonl")) == std::vector<std::int64_t>{5, 6});
  }
  SECTION("but not from another checkpoint") {
    CHECK_THROWS_WITH(second.train({}, {.resume_from = first.file("checkpoints/step-00000003")}),
                      ContainsSubstring("was started from " + given.string()));
  }
}

TEST_CASE("a resumed run does not need the file of its initial weights") {
  Runs runs;
  runs.train({"train.max_steps=1", "run.name=pretrained"});
  const fs::path weights = runs.folder().parent_path() / "weights.safetensors";
  fs::rename(runs.file("model.safetensors"), weights);
  fs::remove_all(runs.folder());
  const std::string setting = "model.weights=" + weights.string();
  runs.train({setting}, {.interrupt_at = 4});
  fs::remove(weights);
  CHECK(runs.train({setting}).outcome == Outcome::finished);
}

TEST_CASE("a finished run without a checkpoint is not started over") {
  Runs runs;
  runs.train({"checkpoint.every=never"});
  CHECK_THROWS_WITH(runs.train({"checkpoint.every=never"}), ContainsSubstring("finished run"));
  std::ofstream(runs.file("result.json")) << R"({"outcome": 1})";  // nothing that a run has written
  CHECK(runs.train({"checkpoint.every=never"}).outcome == Outcome::finished);
}
