// Where a user's own training loop saves its states: beside other files, and as the states of a project.
#include <torch/optim/sgd.h>

#include <catch2/catch_all.hpp>

#include "runner/accelerator/accelerator.hpp"
#include "tests/runner/accelerator/small_training.hpp"
#include "tests/support/files.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

struct SmallTraining {
  explicit SmallTraining(World& world, ProjectOptions project = {})
      : accelerator(world, {.device = "cpu", .project = std::move(project)}) {
    accelerator.prepare(model);
  }
  // Sets the weights, to see what is loaded.
  void set(double value) {
    const torch::NoGradGuard no_grad;
    model->weight.fill_(value);
  }
  double value() { return model->weight[0][0].item<double>(); }

  torch::nn::Linear model = model_of_test();
  Accelerator accelerator;
};

}  // namespace

TEST_CASE("accelerator: a state is saved beside what is in the folder", "[accelerator]") {
  const TemporaryFolder folder;
  World alone;
  SmallTraining training(alone);
  for (const char* name : {"metrics.jsonl", "run.json", "notes.txt", "logs/1.txt"})
    write_file(folder / name, name);
  for (const double value : {1.0, 2.0}) {  // the second replaces the first
    training.set(value);
    training.accelerator.save_state(folder.path());
  }
  for (const char* name : {"metrics.jsonl", "run.json", "notes.txt", "logs/1.txt"})
    CHECK(read_text(folder / name) == name);
  training.set(0);
  training.accelerator.load_state(folder.path());
  CHECK(training.value() == 2);
}

TEST_CASE("accelerator: the current folder and a link to a folder can hold a state", "[accelerator]") {
  const TemporaryFolder folder;
  const auto before = fs::current_path();
  fs::create_directories(folder / "here");
  fs::create_directory_symlink(folder / "here", folder / "link");
  World alone;
  SmallTraining training(alone);
  training.set(3);
  fs::current_path(folder / "here");
  write_file(fs::current_path() / "precious.txt", "mine");
  training.accelerator.save_state(".");
  CHECK(fs::exists("precious.txt"));
  fs::current_path(before);
  CHECK(fs::is_symlink(folder / "link"));
  training.set(0);
  training.accelerator.load_state(folder / "link");
  CHECK(training.value() == 3);
  training.set(4);
  training.accelerator.save_state(folder / "link/");
  CHECK(fs::is_symlink(folder / "link"));
  training.accelerator.load_state(folder / "here");
  CHECK(training.value() == 4);
}

TEST_CASE("accelerator: a state replaces nothing that belongs to no state", "[accelerator]") {
  const TemporaryFolder folder;
  World alone;
  SmallTraining training(alone);
  training.set(5);
  const auto refused = [&](const fs::path& where, const std::string& why) {
    CHECK_THROWS_WITH(training.accelerator.save_state(where), ContainsSubstring(why));
  };
  write_file(folder / "weights/model.safetensors", "of somebody else");
  refused(folder / "weights", "belongs to no checkpoint and would be replaced");
  CHECK(read_text(folder / "weights/model.safetensors") == "of somebody else");
  CHECK_FALSE(training.accelerator.has_state(folder / "weights"));
  training.accelerator.save_state(folder / "weights/state");  // as the message proposes
  write_file(folder / "app/manifest.json", "{\"name\": \"an app\"}");
  refused(folder / "app", "manifest.json");
  CHECK(read_text(folder / "app/manifest.json") == "{\"name\": \"an app\"}");
  CHECK_THROWS_WITH(training.accelerator.has_state(folder / "app"), ContainsSubstring("manifest.json"));
  write_file(folder / "file", "");
  refused(folder / "file", "file");
  refused("", "the name of a folder");

  training.accelerator.save_state(folder / "state");
  CHECK_THROWS_WITH(training.accelerator.save_model(*training.model, folder / "state"),
                    ContainsSubstring("belongs to a checkpoint, which would be damaged"));
  CHECK_NOTHROW(training.accelerator.load_state(folder / "state"));
}

TEST_CASE("accelerator: a folder without a state has none", "[accelerator][ranks]") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "empty");
  on_ranks(GENERATE(1, 2), [&](World& world) {
    SmallTraining training(world);
    require(!training.accelerator.has_state(folder / "empty"), "an empty folder");
    require(!training.accelerator.has_state(folder / "nothing"), "no folder");
    training.accelerator.save_state(folder / "empty");
    require(training.accelerator.has_state(folder / "empty"), "a state");
    training.accelerator.wait_for_everyone();
    training.accelerator.on_main_process([&] { fs::remove_all(folder / "empty"); });
    training.accelerator.on_main_process([&] { fs::create_directories(folder / "empty"); });
    training.accelerator.wait_for_everyone();
  });
}

TEST_CASE("accelerator: the states of a project have names, and the oldest are deleted",
          "[accelerator][ranks]") {
  const TemporaryFolder folder;
  on_ranks(GENERATE(1, 2), [&](World& world) {
    const fs::path place = folder / std::to_string(world.size());
    {
      SmallTraining training(world, {.folder = place, .total_limit = 2});
      require(!training.accelerator.has_state(), "no state yet");
      for (int i = 0; i < 4; ++i) {
        training.set(i);
        require(
            training.accelerator.save_state() == place / "checkpoints" / ("checkpoint_" + std::to_string(i)),
            "the name of the state");
      }
      training.accelerator.wait_for_everyone();
      require(!fs::exists(place / "checkpoints/checkpoint_1"), "the limit");
      require(fs::exists(place / "checkpoints/checkpoint_2"), "the newest two");
    }
    SmallTraining again(world, {.folder = place, .total_limit = 2});
    require(again.accelerator.has_state(), "there are states");
    require(again.accelerator.load_state() == place / "checkpoints/checkpoint_3", "the newest");
    require(again.value() == 3, "its weights");
    again.set(9);
    require(again.accelerator.save_state() == place / "checkpoints/checkpoint_4", "it goes on counting");
    again.accelerator.wait_for_everyone();
    SmallTraining careless(world, {.folder = place, .iteration = 4});
    std::string said;
    try {
      careless.accelerator.save_state();
    } catch (const std::logic_error& error) {
      said = error.what();
    }
    require(said.find("checkpoint_4 exists already") != std::string::npos,
            "a state is not replaced: " + said);
  });
  World alone;
  SmallTraining without(alone);
  CHECK_THROWS_WITH(without.accelerator.save_state(), ContainsSubstring("options.project.folder"));
}
