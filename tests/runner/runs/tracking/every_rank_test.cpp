#include <torch/types.h>

#include <catch2/catch_all.hpp>
#include <fstream>
#include <map>
#include <mutex>

#include "components/trackers/tracker.hpp"
#include "registry/base/log.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/runs/tracking/rank_folders.hpp"
#include "runner/train/train_recipe.hpp"
#include "tests/runner/cli/program.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/recipes.hpp"

namespace runner {
namespace {

// Notes each record in a file, as a tracker of a plugin might that watches the machine of every rank.
struct RankNotes {};
constexpr auto describe(std::type_identity<RankNotes>) { return fields(); }

class RankNotesTracker final : public Tracker {
 public:
  explicit RankNotesTracker(const TrackerInputs& inputs)
      : rank_(inputs.rank), out_(inputs.folder_or("") / "notes.txt") {}
  void log(const Record& record) override { out_ << "rank " << rank_ << " step " << record.step << "\n"; }
  void flush() override { out_.flush(); }

 private:
  int rank_;
  std::ofstream out_;
};

TrackerFacts facts(const RankNotes&) { return {.every_rank = true}; }

std::unique_ptr<Tracker> build(const RankNotes&, const TrackerInputs& inputs) {
  return std::make_unique<RankNotesTracker>(inputs);
}

// Sends to a server that may refuse everything.
struct RankUploads {};
constexpr auto describe(std::type_identity<RankUploads>) { return fields(); }

struct RankServer {
  std::mutex mutex;  // each rank has a thread
  bool refuses = true;
  std::map<int, std::vector<std::int64_t>> steps;  // by rank
} server;

class RankUploadsTracker final : public Tracker {
 public:
  explicit RankUploadsTracker(int rank) : rank_(rank) {}
  void log(const Record& record) override {
    const std::lock_guard lock(server.mutex);
    if (server.refuses) throw std::runtime_error("No.");
    server.steps[rank_].push_back(record.step);
  }

 private:
  int rank_;
};

TrackerFacts facts(const RankUploads&) { return {.remote = true, .every_rank = true}; }

std::unique_ptr<Tracker> build_uploads(const RankUploads&, const TrackerInputs& inputs) {
  return std::make_unique<RankUploadsTracker>(inputs.rank);
}

const std::string short_run = R"(
[model]
name = "mlp"
hidden = []
[dataset]
name = "synthetic"
shape = [4]
train = 8
eval = 4
[loader]
batch_size = 2
[optimizer]
name = "sgd"
[train]
max_steps = 2
log_every = "1step"
[eval]
every = "never"
)";

// Returns the run folder.
std::filesystem::path train_on_two_ranks(const testing::Recipes& files) {
  Registry registry = Registry::of_linked();
  Diagnostics found;
  const std::filesystem::path run = files.folder / "run";
  const auto resolved =
      resolve_recipe({files.folder / "main.toml", {}, {"run.dir=" + run.string()}}, registry, found);
  INFO(render(found));
  REQUIRE(resolved);
  testing::on_ranks(2, [&](World& world) { train_recipe(*resolved, registry, world, {.quiet = true}); });
  return run;
}

TEST_CASE("only a folder that is named after a rank belongs to one") {
  CHECK(run_of("/runs/x/ranks/rank-12") == "/runs/x");
  for (const char* folder : {"/runs/x", "/runs/x/ranks/rank-1-old", "/runs/x/ranks/rank-", "/runs/x/rank-1"})
    CHECK(run_of(folder) == folder);
}

}  // namespace

TEST_CASE("a tracker that asks for it runs on every rank, each in a folder of its own") {
  static const Registration<TrackerKind> registration{"rank_notes", "A note for each record.", &build};
  const testing::Recipes files(short_run +
                               "[[tracker]]\nname = \"rank_notes\"\n[[tracker]]\nname = \"csv\"\n");
  const std::filesystem::path run = train_on_two_ranks(files);
  CHECK(testing::read_text(run / "notes.txt") == "rank 0 step 1\nrank 0 step 2\n");
  CHECK(testing::read_text(run / "ranks/rank-1/notes.txt") == "rank 1 step 1\nrank 1 step 2\n");
  CHECK(std::filesystem::exists(run / "metrics.csv"));
  CHECK_FALSE(std::filesystem::exists(run / "ranks/rank-1/metrics.csv"));
}

TEST_CASE("runner track sends what the trackers of every rank could not") {
  static const Registration<TrackerKind> registration{"rank_uploads", "A server.", &build_uploads};
  const log::Silence silence;
  const testing::Recipes files(short_run + "[[tracker]]\nname = \"rank_uploads\"\n");
  const std::filesystem::path run = train_on_two_ranks(files);
  CHECK(server.steps.empty());
  server.refuses = false;
  const testing::Outcome sent = testing::Program{}.run({"track", run.string()});
  CHECK(sent.code == 0);
  CHECK(sent.out == "rank_uploads: has everything now\nrank_uploads.rank1: has everything now\n");
  CHECK(server.steps == std::map<int, std::vector<std::int64_t>>{{0, {1, 2}}, {1, {1, 2}}});
}

}  // namespace runner
