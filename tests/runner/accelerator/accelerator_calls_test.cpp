// What a user's own loop asks of the accelerator beside training: weights from files, memory, trackers.
#include <torch/nn.h>
#include <torch/optim/sgd.h>

#include <catch2/catch_all.hpp>

#include "components/models/weights/load_weights.hpp"
#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/batch_size.hpp"
#include "tests/runner/accelerator/small_training.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("accelerator: weights are loaded whatever a wrapper has added to their names", "[accelerator]") {
  const std::string prefix =
      GENERATE("", "module.", "model.", "_orig_mod.", "module._orig_mod.", "model._orig_mod.");
  const std::string inner = GENERATE("", "_orig_mod.");  // of a layer that was compiled by itself
  const TemporaryFolder folder;
  const torch::Tensor weight = torch::rand({1, 3}), bias = torch::rand({1});
  save_weights({{prefix + "0." + inner + "weight", weight}, {prefix + "0." + inner + "bias", bias}},
               folder / "weights.safetensors");
  World alone;
  Accelerator accelerator(alone, {.device = "cpu"});
  torch::nn::Sequential model(torch::nn::Linear(3, 1));
  CHECK_THAT(accelerator.load_model(*model, folder / "weights.safetensors"),
             ContainsSubstring("2 tensors loaded from a safetensors file"));
  CHECK(torch::equal(model[0]->as<torch::nn::Linear>()->weight, weight));
}

TEST_CASE("accelerator: weights that do not fit are named, and may be renamed", "[accelerator]") {
  const TemporaryFolder folder;
  save_weights({{"head.weight", torch::ones({1, 3})}, {"bias", torch::ones({1})}}, folder / "weights.pt");
  World alone;
  Accelerator accelerator(alone, {.device = "cpu"});
  torch::nn::Linear model = model_of_test();
  const torch::Tensor before = weights_of(*model);
  CHECK_THROWS_WITH(accelerator.load_model(*model, folder / "weights.pt"),
                    ContainsSubstring("head.weight") && ContainsSubstring("LoadModelOptions"));
  CHECK(torch::equal(weights_of(*model), before));
  accelerator.load_model(*model, folder / "weights.pt",
                         {.rename = [](const std::string& name) { return name.substr(name.find('.') + 1); }});
  CHECK(torch::equal(weights_of(*model), torch::ones({4})));
  accelerator.save_model(*model, folder / "saved", 8);  // in several files
  torch::nn::Linear again = model_of_test();
  accelerator.load_model(*again, folder / "saved");
  CHECK(torch::equal(weights_of(*again), torch::ones({4})));
}

TEST_CASE("accelerator: free_memory() drops what was prepared", "[accelerator][ranks]") {
  on_ranks(GENERATE(1, 2), [](World& world) {
    Accelerator accelerator(world, {.device = "cpu"});
    std::weak_ptr<torch::nn::Module> first;
    for (int round = 0; round < 2; ++round) {
      torch::nn::Linear model = model_of_test();
      torch::optim::SGD sgd(model->parameters(), 0.1);
      const torch::Tensor weight = model->weight;
      {
        auto [prepared, optimizer, loader] = accelerator.prepare(model, sgd, loader_of<Sequential>(12, 2));
        for (auto& batch : loader) {
          accelerator.backward(loss_of(model, batch));
          optimizer.step();
          optimizer.zero_grad();
        }
        first = model.ptr();
      }
      accelerator.free_memory();
      require(model.ptr().use_count() == 1, "nobody else holds the model");
    }
    require(first.expired(), "the model is gone");
  });
}

TEST_CASE("accelerator: the largest batch size that fits is found", "[accelerator]") {
  std::vector<std::int64_t> tried;
  const auto train = [&](std::int64_t batch_size) {
    tried.push_back(batch_size);
    if (batch_size > 20) torch::empty({batch_size, std::int64_t{1} << 46}, torch::kUInt8);  // really refused
    return batch_size;
  };
  CHECK(find_executable_batch_size(128, train) == 16);
  CHECK(tried == std::vector<std::int64_t>{128, 64, 32, 16});
  CHECK_THROWS_WITH(
      find_executable_batch_size(4, [](std::int64_t) { throw std::runtime_error("a mistake"); }),
      "a mistake");
  CHECK_THROWS_WITH(find_executable_batch_size(
                        4, [](std::int64_t) { torch::empty({std::int64_t{1} << 50}, torch::kUInt8); }),
                    ContainsSubstring("Not even one example at a time"));
}

TEST_CASE("accelerator: texts, images and files go to all trackers, or to one", "[accelerator]") {
  const TemporaryFolder folder;
  World alone;
  Accelerator accelerator(alone, {.device = "cpu", .trackers = {{"csv"}, {"tensorboard"}}});
  CHECK_THROWS_WITH(accelerator.log_text({{"note", "hello"}}, 1),
                    ContainsSubstring("log_text() needs trackers"));
  accelerator.init_trackers("small", folder / "run");
  CHECK_THROWS_WITH(accelerator.get_tracker("aim"), ContainsSubstring("There is no tracker \"aim\""));
  accelerator.log_text({{"note", "hello"}}, 1);
  accelerator.log_images(
      {{"one", torch::rand({3, 4, 5})}, {"two", torch::zeros({2, 1, 4, 5}, torch::kUInt8)}}, 1);
  CHECK_THROWS_WITH(accelerator.log_images({{"flat", torch::zeros({7})}}, 1),
                    ContainsSubstring("of shape [7]"));
  accelerator.log({{"loss", 1.0}}, 1);
  accelerator.get_tracker("csv").log({{"loss", 2.0}}, 2);
  CHECK_THROWS_WITH(accelerator.log_artifact("model", folder / "nothing"),
                    ContainsSubstring("there is no file"));
  accelerator.end_training();
  const std::string all = read_text(folder / "run/metrics.jsonl");
  CHECK_THAT(all, ContainsSubstring("\"step\":1") && !ContainsSubstring("\"step\":2"));
  std::string events;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "run"))
    if (entry.path().filename().string().find("tfevents") != std::string::npos)
      events += read_text(entry.path());
  CHECK_THAT(events, ContainsSubstring("hello") && ContainsSubstring("two/1") && ContainsSubstring("PNG"));
  const std::string csv = read_text(folder / "run/metrics.csv");
  CHECK_THAT(csv, ContainsSubstring("2"));
}
