#include "runner/train/best_files.hpp"

#include <catch2/catch_all.hpp>

#include "components/models/weights/load_weights.hpp"
#include "components/weights/safetensors.hpp"
#include "registry/files/open_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

namespace {

// The best evaluations of a run, with the file of each.
struct SmallRun {
  TemporaryFolder folder;
  BestModel best{{"eval/loss", Better::min, 3}};

  void evaluate(std::int64_t step, double loss) {
    Progress progress;
    progress.step = step;
    REQUIRE(best.admit(progress, {{"eval/loss", loss}}));
    fs::create_directories(folder / "best");
    char name[48];
    std::snprintf(name, sizeof name, "best/step-%08lld.safetensors", static_cast<long long>(step));
    write_safetensors(folder / name, {{"weight", torch::ones({2})}},
                      {{"metric", "eval/loss"},
                       {"mode", "min"},
                       {"value", std::to_string(loss)},
                       {"step", std::to_string(step)}});
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder / "best")) names.insert(entry.path().filename());
    return names;
  }
};

using Names = std::set<std::string>;

}  // namespace

TEST_CASE("best files: a resumed run deletes those that it does not know, but nothing of the user's") {
  SmallRun run;
  run.evaluate(1, 3);
  const State saved = run.best.save();
  run.evaluate(2, 2);
  const Names of_user{"step-00000002-good.safetensors", "step-2.safetensors", "mine.safetensors"};
  for (const std::string& name : of_user) write_file(run.folder / ("best/" + name), "of the user");
  BestModel restored({"eval/loss", Better::min, 3});
  restored.load(saved);
  BestFiles(run.folder.path()).restore(restored);
  Names expected = of_user;
  expected.insert("step-00000001.safetensors");
  CHECK(run.files() == expected);
}

TEST_CASE("best files: a run that resumes from before its first evaluation has no best weights") {
  SmallRun run;
  const State saved = run.best.save();
  run.evaluate(1, 3);
  const BestFiles files(run.folder.path());
  files.restore(run.best);
  REQUIRE(fs::exists(run.folder / "best.safetensors"));
  run.best.load(saved);
  files.restore(run.best);
  CHECK_FALSE(fs::exists(fs::symlink_status(run.folder / "best.safetensors")));
  CHECK(run.files().empty());
}

TEST_CASE("best files: those that a changed recipe no longer keeps stay until a checkpoint is written") {
  SmallRun run;
  run.evaluate(1, 3);
  run.evaluate(2, 2);
  const BestRule rule =
      GENERATE(BestRule{"eval/loss", Better::min, 1}, BestRule{"eval/accuracy", Better::max, 3});
  CAPTURE(rule.metric);
  BestModel changed(rule);
  changed.load(run.best.save());
  const BestFiles files(run.folder.path());
  files.restore(changed);
  CHECK(run.files() == Names{"step-00000001.safetensors", "step-00000002.safetensors"});
  files.remove_displaced(changed);
  CHECK(run.files() == (rule.keep == 1 ? Names{"step-00000002.safetensors"} : Names{}));
}

TEST_CASE("best files: one that is damaged is listed as such, after the others") {
  SmallRun run;
  run.evaluate(1, 3);
  run.evaluate(2, 2);
  run.evaluate(3, 1);
  fs::resize_file(run.folder / "best/step-00000003.safetensors", 5);
  const auto all = BestFiles(run.folder.path()).all();
  REQUIRE(all.size() == 3);
  CHECK(all[0].kept.step == 2);
  CHECK(all[0].bytes == fs::file_size(all[0].file));
  CHECK(all[1].kept.step == 1);
  CHECK(all[1].damage.empty());
  CHECK(all[2].file.filename() == "step-00000003.safetensors");
  CHECK_FALSE(all[2].damage.empty());
}

TEST_CASE(
    "best files: equally good ones are listed in the order of their steps, however many digits they have") {
  SmallRun run;
  const std::int64_t late = GENERATE(7, 100'000'000);  // one digit more than the others
  run.evaluate(late, 1);
  run.evaluate(20'000'000, 1);
  const auto all = BestFiles(run.folder.path()).all();
  REQUIRE(all.size() == 2);
  CHECK(all[0].kept.step == std::min<std::int64_t>(late, 20'000'000));
}

TEST_CASE("best files: a value that is not a number does not disturb the order of the others") {
  SmallRun run;
  for (const auto& [step, loss] : {std::pair{1, -1.0}, {3, -3.0}, {4, -2.0}}) run.evaluate(step, loss);
  const BestFiles files(run.folder.path());
  write_safetensors(files.path_of(2), {{"weight", torch::ones({2})}},
                    {{"metric", "eval/loss"}, {"mode", "min"}, {"value", "nan"}, {"step", "2"}});
  std::vector<fs::path> listed;
  for (const auto& each : files.all()) listed.push_back(each.file);
  CHECK(listed == std::vector{files.path_of(3), files.path_of(4), files.path_of(1), files.path_of(2)});
  CHECK_THAT(files.all().back().damage, Catch::Matchers::ContainsSubstring("is not a number"));
}

TEST_CASE("best files: one that cannot be read is an error, and none is deleted for it") {
  SmallRun run;
  run.evaluate(1, 3);
  run.evaluate(2, 2);
  const BestFiles files(run.folder.path());
  fs::remove(files.path_of(1));
  CHECK(files.unusable(run.best) == std::vector<std::int64_t>{1});
  fs::create_directory(files.path_of(1));
  CHECK_THROWS_WITH(files.unusable(run.best),
                    Catch::Matchers::ContainsSubstring("step-00000001.safetensors is a folder"));
  CHECK(run.files() == Names{"step-00000001.safetensors", "step-00000002.safetensors"});
}

TEST_CASE("best files: a wrong bit in the weights is noticed") {
  SmallRun run;
  run.evaluate(1, 3);
  const fs::path file = BestFiles(run.folder.path()).path_of(1);
  save_weights({{"weight", torch::ones({2})}}, file, {{"metric", "eval/loss"}});
  CHECK(BestFiles(run.folder.path()).unusable(run.best).empty());
  std::string bytes = read_file(file, 1 << 20);
  bytes.back() ^= 1;
  write_file(file, bytes);
  CHECK(BestFiles(run.folder.path()).unusable(run.best) == std::vector<std::int64_t>{1});
  CHECK_THAT(BestFiles(run.folder.path()).all().at(0).damage,
             Catch::Matchers::ContainsSubstring("do not match its checksum"));
}
