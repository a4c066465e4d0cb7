#include <catch2/catch_all.hpp>
#include <fstream>

#include "components/trackers/tracker.hpp"
#include "runner/resolve.hpp"
#include "runner/train/train_recipe.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/recipes.hpp"

namespace runner {
namespace {

// Notes each record in a file, as a tracker of a plugin might that watches the machine of every rank.
struct RankNotes {};
constexpr auto describe(std::type_identity<RankNotes>) { return fields(); }

class RankNotesTracker final : public Tracker {
 public:
  explicit RankNotesTracker(const TrackerInputs& in) : rank_(in.rank), out_(in.folder_or("") / "notes.txt") {}
  void log(const Record& record) override { out_ << "rank " << rank_ << " step " << record.step << "\n"; }
  void flush() override { out_.flush(); }

 private:
  int rank_;
  std::ofstream out_;
};

TrackerFacts facts(const RankNotes&) { return {.every_rank = true}; }

std::unique_ptr<Tracker> build(const RankNotes&, const TrackerInputs& in) {
  return std::make_unique<RankNotesTracker>(in);
}

}  // namespace

TEST_CASE("a tracker that asks for it runs on every rank, each in a folder of its own") {
  static const Registration<TrackerKind> registration{"rank_notes", "A note for each record.", &build};
  const testing::Recipes files(R"(
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
[[tracker]]
name = "rank_notes"
[[tracker]]
name = "csv"
)");
  Registry registry = Registry::of_linked();
  Diagnostics found;
  const std::filesystem::path run = files.folder / "run";
  const auto resolved =
      resolve_recipe({files.folder / "main.toml", {}, {"run.dir=" + run.string()}}, registry, found);
  INFO(render(found));
  REQUIRE(resolved);
  testing::on_ranks(2, [&](World& world) { train_recipe(*resolved, registry, world, {.quiet = true}); });
  CHECK(testing::read_text(run / "notes.txt") == "rank 0 step 1\nrank 0 step 2\n");
  CHECK(testing::read_text(run / "ranks/rank-1/notes.txt") == "rank 1 step 1\nrank 1 step 2\n");
  CHECK(std::filesystem::exists(run / "metrics.csv"));
  CHECK_FALSE(std::filesystem::exists(run / "ranks/rank-1/metrics.csv"));
}

}  // namespace runner
