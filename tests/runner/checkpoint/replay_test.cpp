#include "runner/checkpoint/replay.hpp"

#include <catch2/catch_all.hpp>
#include <fstream>
#include <limits>

#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

namespace {

Checkpoint with_weight(const torch::Tensor& weight) {
  Checkpoint checkpoint;
  checkpoint.states["model"].tensors["weight"] = weight;
  return checkpoint;
}

class FakeRun {
 public:
  FakeRun() { write_recipe("lr = 1\n"); }

  void write_recipe(const std::string& text) const { std::ofstream(folder_ / "recipe.toml") << text; }
  void save(std::int64_t step, const std::string& recipe = "lr = 1\n", std::int64_t ranks = 1) const {
    Checkpoint checkpoint = with_weight(torch::ones({4}));
    checkpoint.step = step;
    checkpoint.ranks = ranks;
    checkpoint.texts["recipe.toml"] = recipe;
    const CheckpointStore store(folder_.path());
    const auto folder = store.begin(step, 100);
    store.write(*folder, checkpoint, {}, 100);
  }
  ReplayRange choose(const ReplayRequest& request) const { return choose_replay(folder_.path(), request); }
  fs::path folder_of(std::int64_t step) const { return CheckpointStore(folder_.path()).path_of(step); }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("replay: from the oldest checkpoint to the next one", "[checkpoint]") {
  const FakeRun run;
  for (const std::int64_t step : {10, 20, 30}) run.save(step);
  const ReplayRange range = run.choose({.last_step = 30});
  CHECK(range.from == run.folder_of(10));
  CHECK(range.to == run.folder_of(20));
  CHECK(range.text() == "steps 11 to 20");
  CHECK(run.choose({.last_step = 30, .from = 20}).to == run.folder_of(30));
  CHECK_THROWS_WITH(run.choose({.last_step = 30, .from = 25}), ContainsSubstring("no checkpoint at step 25"));
  CHECK_THROWS_WITH(run.choose({.last_step = 30, .from = 30}), ContainsSubstring("nothing to compare"));
}

TEST_CASE("replay: no more steps than wanted, and no more than were recorded", "[checkpoint]") {
  const FakeRun run;
  run.save(10);
  CHECK(run.choose({.last_step = 90}).end == 30);
  CHECK(run.choose({.last_step = 15}).end == 15);
  CHECK(run.choose({.last_step = 90, .steps = 3}).end == 13);
  constexpr auto very_many = std::numeric_limits<std::int64_t>::max();
  CHECK(run.choose({.last_step = 90, .steps = very_many}).end == 90);
  run.save(20);
  CHECK(run.choose({.last_step = 90, .steps = very_many}).to == run.folder_of(20));
  const ReplayRange some = run.choose({.last_step = 90, .steps = 3});
  CHECK(some.end == 13);
  CHECK_FALSE(some.to);
  CHECK(run.choose({.last_step = 90, .steps = 10}).to == run.folder_of(20));
}

TEST_CASE("replay: what was computed otherwise is not compared", "[checkpoint]") {
  const FakeRun run;
  SECTION("nothing is there") {
    CHECK_THROWS_WITH(run.choose({.last_step = 9}), ContainsSubstring("no complete checkpoint"));
  }
  SECTION("with another learning rate") {
    run.save(10, "lr = 2\n");
    CHECK_THROWS_WITH(run.choose({.last_step = 90}), ContainsSubstring("the recipe of the run was changed"));
    run.save(20);
    run.save(30);
    CHECK(run.choose({.last_step = 90}).from == run.folder_of(20));
  }
  SECTION("by several ranks") {
    run.save(10, "lr = 1\n", 2);
    CHECK_THROWS_WITH(run.choose({.last_step = 90}), ContainsSubstring("2 ranks"));
  }
}

TEST_CASE("replay: tensors are compared bit by bit, and no state is left out", "[checkpoint]") {
  const torch::Tensor weight = torch::tensor({1.0f, 0.0f, NAN});
  Checkpoint recorded = with_weight(weight), replayed = with_weight(weight.clone());
  CHECK(first_difference(recorded, replayed) == "");  // a NaN equals itself here
  SECTION("the sign of a zero") {
    replayed = with_weight(torch::tensor({1.0f, -0.0f, NAN}));
    CHECK(first_difference(recorded, replayed) == "the tensor \"model weight\"");
  }
  SECTION("another shape") {
    replayed = with_weight(weight.reshape({3, 1}));
    CHECK(first_difference(recorded, replayed) == "the tensor \"model weight\"");
  }
  SECTION("another type of the same bytes") {
    recorded = with_weight(torch::zeros({2}));
    replayed = with_weight(torch::zeros({2}, torch::kInt32));
    CHECK(first_difference(recorded, replayed) == "the tensor \"model weight\"");
  }
  SECTION("a part of another state") {
    recorded.states["hook.0.ema"].parts["average"].tensors["weight"] = weight;
    CHECK_THAT(first_difference(recorded, replayed),
               ContainsSubstring("the state \"hook.0.ema\", which only the recorded"));
    CHECK_THAT(first_difference(replayed, recorded), ContainsSubstring("only the recomputed"));
    replayed.states["hook.0.ema"].parts["average"].tensors["weight"] = weight + 1;
    CHECK(first_difference(recorded, replayed) == "the tensor \"hook.0.ema average/weight\"");
  }
  SECTION("a tensor that only one of them has") {
    replayed.states["model"].tensors["bias"] = weight;
    CHECK_THAT(first_difference(recorded, replayed),
               ContainsSubstring("the tensor \"model bias\", which only the recomputed"));
    CHECK_THAT(first_difference(replayed, recorded), ContainsSubstring("only the recorded"));
  }
}

TEST_CASE("replay: a model in a hook's own format is compared by its bytes, or reported as not compared",
          "[checkpoint]") {
  const TemporaryFolder folder;
  const auto written = [&](const std::string& name, const std::string& contents) {
    Checkpoint checkpoint = with_weight(torch::ones({4}));
    checkpoint.step = 10;
    const std::vector<ModelStatesHook> hooks{[&](ModelStates& models, const fs::path& place) {
      models.clear();
      if (!contents.empty()) std::ofstream(place / "model.bin") << contents;
    }};
    const fs::path run = folder / name;
    const CheckpointStore store(run);
    fs::create_directories(store.folder());
    call_save_hooks(hooks, checkpoint, store.path_of(10));
    store.write(*store.begin(10, 100), checkpoint, {}, 100);
    return open_to_compare(store.path_of(10));
  };
  const ComparedCheckpoint recorded = written("recorded", "1 1 1 1");
  CHECK(recorded.hook_files.size() == 1);
  CHECK(not_compared(recorded, written("same", "1 1 1 1")).empty());
  const auto different = not_compared(recorded, written("different", "2 2 2 2"));
  REQUIRE(different.size() == 1);
  CHECK_THAT(different.front(), ContainsSubstring("model.bin"));
  const ComparedCheckpoint without = written("without", "");
  CHECK(not_compared(without, without).size() == 1);
  CHECK(not_compared({with_weight(torch::ones({4}))}, {with_weight(torch::ones({4}))}).empty());
}

TEST_CASE("replay: an opened checkpoint outlives its files", "[checkpoint]") {
  const FakeRun run;
  run.save(10);
  const ComparedCheckpoint opened = open_to_compare(run.folder_of(10));
  fs::remove_all(run.folder_of(10));
  CHECK(first_difference(opened.checkpoint, with_weight(torch::ones({4}))) == "");
}
