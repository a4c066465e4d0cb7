#include "runner/checkpoint/checkpointer.hpp"

#include <array>
#include <catch2/catch_all.hpp>

#include "registry/base/log.hpp"
#include "tests/support/files.hpp"
#include "tests/support/rank_states.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

namespace {

// A run of one rank that has one number.
struct SmallRun {
  TemporaryFolder folder;
  FixedState model{{.tensors = {{"weight", torch::ones({4})}}}};
  TimeLedger times;
  World world;
  Checkpointer::States states{{"model", &model}};

  Checkpointer checkpointer(const CheckpointSection& section, std::vector<ModelStatesHook> hooks = {}) {
    return {section, folder.path(), states,          times, {{"recipe.toml", "a = 1\n"}},
            {},      {world},       std::move(hooks)};
  }

  // The steps of its checkpoints, the newest first.
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> found;
    for (const fs::path& path : CheckpointStore(folder.path()).all()) {
      CHECK(damage_of(path) == "");
      found.push_back(read_summary(path).step);
    }
    return found;
  }
};

Progress place_at(std::int64_t step) {
  Progress place;
  place.step = place.examples = step;
  place.exact_epoch = static_cast<double>(step) / 10;
  return place;
}

void train(Checkpointer& checkpointer, std::int64_t from, std::int64_t until) {
  for (std::int64_t step = from + 1; step <= until; ++step)
    checkpointer.after_step(place_at(step), checkpointer.due(place_at(step - 1), place_at(step)));
}

using Steps = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("checkpointer: the newest stay, and those at multiples of keep_every", "[checkpoint]") {
  SmallRun run;
  {
    Checkpointer checkpointer = run.checkpointer({.every = "4step", .keep = 2, .keep_every = epochs(1)});
    train(checkpointer, 0, 25);
    checkpointer.at_end(place_at(25), false);
    CHECK(run.steps() == Steps{25, 24, 20, 10});
  }
  // A process that resumes the run keeps what the one before it kept.
  Checkpointer checkpointer = run.checkpointer({.every = "4step", .keep = 1, .keep_every = epochs(1)});
  checkpointer.resumed(place_at(25));
  train(checkpointer, 25, 33);
  checkpointer.at_end(place_at(33), false);
  CHECK(run.steps() == Steps{33, 30, 20, 10});
}

TEST_CASE("checkpointer: a kept checkpoint stays kept when its step is saved again", "[checkpoint]") {
  SmallRun run;
  const CheckpointSection section{.every = "4step", .keep = 1, .keep_every = epochs(1)};
  {
    Checkpointer checkpointer = run.checkpointer(section);
    train(checkpointer, 0, 10);
    checkpointer.at_end(place_at(10), true);
  }
  {  // Resumed, and stopped by a signal before the next update.
    Checkpointer checkpointer = run.checkpointer(section);
    checkpointer.resumed(place_at(10));
    checkpointer.at_end(place_at(10), true);
  }
  Checkpointer checkpointer = run.checkpointer(section);
  checkpointer.resumed(place_at(10));
  Progress skipped = place_at(10);  // an update that was skipped: the same step, further on in the data
  ++skipped.examples;
  checkpointer.after_step(skipped, true);
  train(checkpointer, 10, 19);
  checkpointer.at_end(place_at(19), true);
  CHECK(run.steps() == Steps{19, 10});
}

TEST_CASE("checkpointer: auto asks for none while one is written", "[checkpoint]") {
  SmallRun run;
  Checkpointer checkpointer = run.checkpointer({});
  const auto at = [](std::int64_t step, double seconds) {
    Progress place = place_at(step);
    place.seconds = seconds;
    return place;
  };
  CHECK(checkpointer.due_by_clock(at(1, 100)));
  checkpointer.after_step(at(1, 100), true);
  // Whether it is written by now is not known to training before the next update.
  CHECK_FALSE(checkpointer.due_by_clock(at(2, 100000)));
  checkpointer.at_end(at(1, 100), false);
  CHECK(checkpointer.due_by_clock(at(2, 100000)));
}

TEST_CASE("checkpointer: a save that failed is tried again when the run fails because of it",
          "[checkpoint]") {
  SmallRun run;
  const bool async = GENERATE(false, true);
  CAPTURE(async);
  bool bad = true;  // the hook leaves something that cannot be part of a checkpoint
  const ModelStatesHook hook = [&](ModelStates&, const fs::path& folder) {
    if (bad) fs::create_symlink("nowhere", folder / "link");
  };
  Checkpointer checkpointer =
      run.checkpointer({.every = "never", .keep_every = epochs(1), .async = async}, {hook});
  CHECK_THROWS([&] {
    checkpointer.after_step(place_at(10), true);
    checkpointer.at_end(place_at(10), true);
  }());
  CHECK_FALSE(CheckpointStore(run.folder.path()).is_kept(10));
  bad = false;
  checkpointer.at_end(place_at(10), true);
  CHECK(run.steps() == Steps{10});
  CHECK(CheckpointStore(run.folder.path()).is_kept(10));
}

TEST_CASE("checkpointer: a hook's file whose name is not UTF-8 is refused by its name", "[checkpoint]") {
  SmallRun run;
  const ModelStatesHook hook = [](ModelStates&, const fs::path& folder) {
    write_file(folder / "caf\xE9.bin", "of a hook");
  };
  Checkpointer checkpointer = run.checkpointer({.async = false}, {hook});
  CHECK_THROWS_WITH(checkpointer.after_step(place_at(1), true),
                    ContainsSubstring("caf") && ContainsSubstring("whose name is not UTF-8"));
}

TEST_CASE("checkpointer: after a failure, a hook may throw anything", "[checkpoint]") {
  SmallRun run;
  const ModelStatesHook bad = [](ModelStates&, const fs::path&) { throw 7; };
  run.checkpointer({}, {bad}).on_exception(place_at(1));
  CHECK(run.steps().empty());
}

TEST_CASE("checkpointer: checkpoints of another format are not deleted as damaged", "[checkpoint]") {
  SmallRun run;
  Checkpointer checkpointer = run.checkpointer({.every = "1step", .keep = 1, .async = false});
  train(checkpointer, 0, 1);
  const CheckpointStore store(run.folder.path());
  write_file(store.path_of(1) / "manifest.json", R"({"format": 2, "later": []})");
  train(checkpointer, 1, 4);
  CHECK(store.all() == std::vector<fs::path>{store.path_of(4), store.path_of(1)});
}

TEST_CASE("checkpointer: `latest` is made to lead to the checkpoint that a run continues from",
          "[checkpoint]") {
  SmallRun run;
  Checkpointer checkpointer = run.checkpointer({.every = "1step", .keep = 2, .async = false});
  train(checkpointer, 0, 2);
  const CheckpointStore store(run.folder.path());
  const fs::path latest = store.folder() / "latest";
  const auto break_link = GENERATE(0, 1, 2);
  fs::remove(latest);
  if (break_link == 1) fs::create_symlink("step-00000001", latest);
  if (break_link == 2) fs::create_symlink("step-00000007", latest);  // there is none
  store.point_latest_to(store.path_of(2));
  CHECK(fs::read_symlink(latest) == "step-00000002");
}

TEST_CASE("checkpointer: a run that is resumed says what is not as it was", "[checkpoint]") {
  SmallRun run;
  const auto process = [&](const std::string& version) {
    return Checkpointer({}, run.folder.path(), run.states, run.times, {}, {{"libtorch", version}},
                        {run.world});
  };
  process("2.6.0").at_end(place_at(5), true);
  log::clear_warnings();
  process("2.6.0").resumed(place_at(5));
  CHECK(log::warnings().empty());
  process("2.7.0").resumed(place_at(9));  // of another run: its checkpoint is not here
  CHECK(log::warnings().empty());
  process("2.7.0").resumed(place_at(5));
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings().front(), ContainsSubstring("libtorch: 2.6.0 -> 2.7.0"));
  log::clear_warnings();
}

TEST_CASE("checkpointer: names and texts that are not UTF-8 are saved", "[checkpoint]") {
  SmallRun run;
  const std::string bytes = "caf\xE9";
  FixedState other{{.integers = {{bytes, 1}}, .numbers = {{bytes, 0.5}}, .texts = {{bytes, bytes}}}};
  run.states.emplace_back("other", &other);
  Checkpointer checkpointer = run.checkpointer({});
  checkpointer.measured({{"eval/recall/" + bytes, 0.5}});
  checkpointer.at_end(place_at(3), true);
  REQUIRE(run.steps() == Steps{3});
  const Checkpoint read = read_checkpoint(CheckpointStore(run.folder.path()).path_of(3));
  CHECK(read.metrics == std::map<std::string, double>{{"eval/recall/caf\xEF\xBF\xBD", 0.5}});
  CHECK(read.states.at("other").integers == other.save().integers);
  CHECK(read.states.at("other").numbers == other.save().numbers);
  CHECK(read.states.at("other").texts == other.save().texts);
}

TEST_CASE("checkpointer: at the end only where that is wanted, and always after a signal", "[checkpoint]") {
  SmallRun run;
  Checkpointer checkpointer = run.checkpointer({.every = "never"});
  checkpointer.at_end(place_at(7), false);
  CHECK(run.steps().empty());
  CHECK(checkpointer.covers(7));  // there is to be none
  checkpointer.at_end(place_at(7), true);
  CHECK(run.steps() == Steps{7});
  CHECK(checkpointer.covers(7));
  CHECK_FALSE(checkpointer.covers(9));  // the checkpoint of step 7 still refers to the best of then
  CHECK_FALSE(run.checkpointer({.every = "never"}).covers(9));
}

TEST_CASE("checkpointer: a run that fails leaves a checkpoint, unless it is told not to", "[checkpoint]") {
  SmallRun run;
  run.checkpointer({.on_exception = false}).on_exception(place_at(3));
  CHECK(run.steps().empty());
  run.checkpointer({}).on_exception(place_at(4));
  CHECK(run.steps() == Steps{4});
}

TEST_CASE("checkpointer: without async it is on the disk when the call returns", "[checkpoint]") {
  SmallRun run;
  Checkpointer checkpointer = run.checkpointer({.async = false});
  checkpointer.after_step(place_at(5), true);
  CHECK(run.steps() == Steps{5});
  CHECK(checkpointer.covers(5));
  CHECK_FALSE(checkpointer.covers(6));
}

TEST_CASE("checkpointer: the copy is of the moment, whatever training does next", "[checkpoint]") {
  SmallRun run;
  const torch::Tensor weight = torch::ones({4});
  FixedState model({.tensors = {{"weight", weight}}});
  run.states = {{"model", &model}};
  Checkpointer checkpointer = run.checkpointer({});
  checkpointer.after_step(place_at(1), true);
  weight.fill_(2);
  checkpointer.at_end(place_at(1), false);
  const Checkpoint read = read_checkpoint(CheckpointStore(run.folder.path()).path_of(1));
  CHECK(torch::equal(read.states.at("model").tensors.at("weight"), torch::ones({4})));
}

TEST_CASE("checkpointer: what goes wrong in the background fails the run", "[checkpoint]") {
  SmallRun run;
  // A hook leaves something that is not a file, which is found when it becomes part of the checkpoint.
  const ModelStatesHook bad = [](ModelStates&, const fs::path& folder) {
    fs::create_symlink("nowhere", folder / "link");
  };
  Checkpointer checkpointer = run.checkpointer({}, {bad});
  checkpointer.after_step(place_at(1), true);
  SECTION("at the next checkpoint") {
    CHECK_THROWS_WITH(checkpointer.after_step(place_at(2), true), ContainsSubstring("link"));
  }
  SECTION("at the end") {
    CHECK_THROWS_WITH(checkpointer.at_end(place_at(1), false), ContainsSubstring("link"));
  }
  CHECK_FALSE(checkpointer.covers(1));
  CHECK(run.steps().empty());
}

TEST_CASE("checkpointer: an old checkpoint with a damaged manifest does not fail the run", "[checkpoint]") {
  SmallRun run;
  Checkpointer checkpointer = run.checkpointer({.every = "1step", .keep = 2, .async = false});
  train(checkpointer, 0, 2);
  const fs::path damaged = CheckpointStore(run.folder.path()).path_of(1);
  const bool missing = GENERATE(false, true);
  CAPTURE(missing);
  if (missing) fs::remove(damaged / "manifest.json");
  if (!missing) fs::resize_file(damaged / "manifest.json", 10);
  train(checkpointer, 2, 4);
  CHECK(run.steps() == Steps{4, 3});
}

TEST_CASE("checkpointer: a damaged checkpoint does not count as one of those to keep", "[checkpoint]") {
  SmallRun run;
  Checkpointer checkpointer = run.checkpointer({.every = "1step", .keep = 2, .async = false});
  train(checkpointer, 0, 2);
  const CheckpointStore store(run.folder.path());
  fs::remove(store.path_of(2) / "manifest.json");
  train(checkpointer, 2, 3);
  CHECK(fs::exists(store.path_of(3) / "manifest.json"));
  CHECK(fs::exists(store.path_of(1) / "manifest.json"));
}

namespace {

// Gives out its own memory, as a hook of a plugin may, and goes on changing it.
class SharesMemory final : public Stateful {
 public:
  State save() const override {
    return {.tensors = {{"weight", torch::from_blob(numbers_.data(), {4}, torch::kFloat32)},
                        {"view", tensor_.view({2, 2})}}};
  }
  void load(const State&) override {}
  void change() {
    numbers_.fill(7);
    tensor_.fill_(7);
  }

 private:
  mutable std::array<float, 4> numbers_{1, 1, 1, 1};
  torch::Tensor tensor_ = torch::ones({4});
};

}  // namespace

TEST_CASE("checkpointer: memory that a state shares with its owner is copied before training goes on",
          "[checkpoint]") {
  SmallRun run;
  SharesMemory object;
  run.states.emplace_back("object", &object);
  const ModelStatesHook changes = [&](ModelStates&, const fs::path&) { object.change(); };
  {
    Checkpointer checkpointer = run.checkpointer({}, {changes});
    checkpointer.after_step(place_at(1), true);
    checkpointer.at_end(place_at(1), false);
  }
  const Checkpoint saved = read_checkpoint(CheckpointStore(run.folder.path()).path_of(1));
  CHECK(torch::equal(saved.states.at("object").tensors.at("weight"), torch::ones({4})));
  CHECK(torch::equal(saved.states.at("object").tensors.at("view"), torch::ones({2, 2})));
}

TEST_CASE(
    "checkpointer: newer checkpoints than the one that the run resumes from are damaged and do not count",
    "[checkpoint]") {
  SmallRun run;
  const CheckpointSection section{.every = "1step", .keep = 2};
  {
    Checkpointer checkpointer = run.checkpointer(section);
    train(checkpointer, 0, 3);
    checkpointer.at_end(place_at(3), false);
  }
  CHECK(run.steps() == Steps{3, 2});
  const CheckpointStore store(run.folder.path());
  // Damage that the manifest does not show.
  const fs::path weights = store.path_of(3) / "model.safetensors";
  fs::resize_file(weights, fs::file_size(weights) - 1);
  Checkpointer checkpointer = run.checkpointer(section);
  checkpointer.resumed(place_at(2));
  checkpointer.after_step(place_at(4), true);
  checkpointer.at_end(place_at(4), false);
  CHECK(store.all() == std::vector{store.path_of(4), store.path_of(3), store.path_of(2)});
  checkpointer.after_step(place_at(5), true);
  checkpointer.at_end(place_at(5), false);
  CHECK(run.steps() == Steps{5, 4});
}

TEST_CASE("checkpointer: a damaged checkpoint that was written again counts as one of those to keep",
          "[checkpoint]") {
  SmallRun run;
  const CheckpointSection section{.every = "1step", .keep = 2, .async = false};
  {
    Checkpointer checkpointer = run.checkpointer(section);
    train(checkpointer, 0, 3);
  }
  const CheckpointStore store(run.folder.path());
  fs::resize_file(store.path_of(3) / "model.safetensors", 20);
  Checkpointer checkpointer = run.checkpointer(section);
  checkpointer.resumed(place_at(2));
  train(checkpointer, 2, 4);
  CHECK(run.steps() == Steps{4, 3});
}

TEST_CASE("checkpointer: a checkpoint has the metrics of the last evaluation only", "[checkpoint]") {
  SmallRun run;
  Checkpointer checkpointer = run.checkpointer({.async = false});
  checkpointer.measured({{"eval/loss", 0.5}, {"eval/accuracy", 0.75}});
  checkpointer.measured({{"eval/loss", 0.25}, {"eval/perplexity", INFINITY}});
  checkpointer.after_step(place_at(1), true);
  const auto summary = read_summary(CheckpointStore(run.folder.path()).path_of(1));
  CHECK(summary.metrics == std::map<std::string, double>{{"eval/loss", 0.25}});
}
