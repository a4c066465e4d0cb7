#include <torch/types.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "components/models/weights/load_weights.hpp"
#include "components/models/weights/model_weights.hpp"
#include "runner/checkpoint/checkpoint_store.hpp"
#include "runner/predict/load_run.hpp"
#include "runner/runs/data_spec_file.hpp"
#include "tests/runner/predict/trained_runs.hpp"
#include "tests/support/in_folder.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

const DataSpec tokens{.input_shape = {8}, .input_type = torch::kInt64, .target_shape = {8}, .vocabulary = 11};

std::shared_ptr<Model> leave_run(const std::filesystem::path& folder) {
  return testing::leave_run(folder, "name = \"gpt\", layers = 1, heads = 2, width = 8", tokens);
}

}  // namespace

TEST_CASE("trained: a run folder becomes the model that was saved, without the data") {
  const TemporaryFolder folder;
  const auto model = leave_run(folder / "run");
  const TrainedRun run = loaded({.run = folder / "run"});
  CHECK_FALSE(run.model->is_training());
  CHECK(run.weights == folder / "run" / "model.safetensors");
  CHECK(run.data.vocabulary == 11);
  const auto expected = model->named_parameters();
  for (const auto& item : run.model->named_parameters()) {
    INFO(item.key());
    CHECK(torch::equal(item.value(), expected[item.key()]));
  }
}

TEST_CASE("trained: the best weights come first, others on demand") {
  const TemporaryFolder folder;
  const auto model = leave_run(folder / "run");
  const auto head = [&](const std::string& weights) {
    return loaded({.run = folder / "run", .weights = weights}).model->parameters()[0];
  };
  CHECK_THROWS_WITH(head("best"),
                    ContainsSubstring("no best.safetensors") && ContainsSubstring("checkpoint.best"));
  CHECK_THROWS_WITH(head("other.safetensors"), ContainsSubstring("other.safetensors"));
  {
    const torch::NoGradGuard no_grad;
    model->parameters()[0].fill_(7);
  }
  save_weights(ModelWeights(*model).all(), folder / "run" / "best.safetensors");
  CHECK(head("")[0][0].item<float>() == 7);
  CHECK(head("best")[0][0].item<float>() == 7);
  CHECK(head("model")[0][0].item<float>() != 7);
  CHECK(head((folder / "run" / "best.safetensors").string())[0][0].item<float>() == 7);
}

TEST_CASE("trained: a run that has not ended has the weights of its newest complete checkpoint") {
  const TemporaryFolder folder;
  const auto model = leave_run(folder / "run");
  std::filesystem::remove(folder / "run" / "model.safetensors");
  const CheckpointStore store(folder / "run");
  for (const std::int64_t step : {1, 2, 3}) {
    Checkpoint checkpoint;
    checkpoint.step = step;
    for (const auto& [name, tensor] : ModelWeights(*model).all())
      checkpoint.states["model"].tensors[name] =
          tensor.is_floating_point() ? torch::full_like(tensor, static_cast<double>(step)) : tensor;
    store.write(*store.begin(step, 100), checkpoint, {}, 3);
  }
  std::filesystem::remove(store.path_of(3) / "state.json");
  for (const char* wanted : {"", "model"}) {
    const TrainedRun run = loaded({.run = folder / "run", .weights = wanted});
    CHECK(run.weights == store.path_of(2) / "model.safetensors");
    CHECK(run.model->parameters()[0].flatten()[0].item<float>() == 2);
  }
}

TEST_CASE("trained: runs of a name") {
  const TemporaryFolder folder;
  leave_run(folder / "20260101-000000");
  leave_run(folder / "20260201-000000");
  write_file(folder / "20260301-000000" / "log.txt", "this one never began");
  CHECK(find_run(folder.path()) == folder / "20260201-000000");
  std::filesystem::create_directory_symlink("20260101-000000", folder / "latest");
  CHECK(find_run(folder.path()) == folder / "latest");
  CHECK(find_run(folder / "20260201-000000") == folder / "20260201-000000");
}

TEST_CASE("trained: a folder that cannot be read does not hide the other runs") {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  leave_run("runs/good/20260101-000000");
  std::filesystem::create_symlink("loop", "runs/loop");  // like a folder of another user: it exists, no more
  std::filesystem::create_directory("runs/partly");
  std::filesystem::create_symlink("latest", "runs/partly/latest");
  CHECK_THROWS_WITH(find_run("none"), ContainsSubstring("no run folder none; existing runs: runs/good."));
  CHECK_THROWS_WITH(find_run("loop"), ContainsSubstring("no run folder loop"));
  CHECK_THROWS_WITH(find_run("runs/loop"), ContainsSubstring("no run folder runs/loop"));
  CHECK(find_run("good") == "runs/good/20260101-000000");
  std::filesystem::current_path(before);
}

TEST_CASE("trained: a run that chose its folder is listed") {
  const TemporaryFolder folder;
  const InFolder here(folder.path());
  leave_run("runs/x");
  leave_run("runs/good/20260101-000000");
  CHECK_THROWS_WITH(find_run("y"), ContainsSubstring("existing runs: runs/x, runs/good."));
}

TEST_CASE("trained: what is missing is named") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(find_run(folder / "none"),
                    ContainsSubstring("no run folder") && ContainsSubstring("none"));
  CHECK_THROWS_WITH(find_run(folder.path()), ContainsSubstring("no recipe.toml"));
  leave_run(folder / "run");
  CHECK_THROWS_WITH(find_run(folder / "run" / "model.safetensors"), ContainsSubstring("is a file"));
  std::filesystem::remove(folder / "run" / "model.safetensors");
  CHECK_THROWS_WITH(loaded({.run = folder / "run"}), ContainsSubstring("contains no weights"));
  write_file(folder / "run" / "model.safetensors", "torn");
  CHECK_THROWS_WITH(loaded({.run = folder / "run"}), ContainsSubstring("model.safetensors"));
  leave_run(folder / "run");
  write_file(folder / "run" / "data_spec.json", "{\"input_shape\": 3}");
  CHECK_THROWS_WITH(loaded({.run = folder / "run"}), ContainsSubstring("data_spec.json"));
}

TEST_CASE("trained: the recipe can be changed, and a wrong one is refused") {
  const TemporaryFolder folder;
  leave_run(folder / "run");
  CHECK(loaded({.run = folder / "run", .overrides = {"run.name=other"}}).recipe.run.name == "other");
  CHECK_THROWS_WITH(loaded({.run = folder / "run", .overrides = {"run.nam=other"}}),
                    ContainsSubstring("run.nam"));
}

TEST_CASE("trained: what the model was built for survives as JSON") {
  DataSpec data{.input_shape = {3, -1, 32},
                .input_type = torch::kUInt8,
                .target_shape = {2},
                .target_type = torch::kFloat32,
                .classes = 3,
                .class_names = {"a", "\"b\"", "ö"},
                .categories = {4, 5},
                .images = true,
                .mean = {0.1},
                .deviation = {0.3},
                .train_examples = 5};
  const DataSpec read = read_data_spec(write_data_spec(data));
  CHECK(read.input_shape == data.input_shape);
  CHECK(read.input_type == torch::kUInt8);
  CHECK(read.target_shape == data.target_shape);
  CHECK(read.target_type == torch::kFloat32);
  CHECK(read.classes == 3);
  CHECK(read.class_names == data.class_names);
  CHECK(read.categories == data.categories);
  CHECK(read.images);
  CHECK(read.mean == data.mean);
  CHECK(read.deviation == data.deviation);
  CHECK(read.train_examples == 5);
  CHECK_THROWS(read_data_spec("{"));
}
