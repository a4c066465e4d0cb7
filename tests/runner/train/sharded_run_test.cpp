// Whole runs with sharded parameters: what they write, and what they take.
#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <filesystem>

#include "components/hooks/hook.hpp"
#include "components/models/weights/load_weights.hpp"
#include "components/models/weights/model_weights.hpp"
#include "components/weights/safetensors.hpp"
#include "runner/checkpoint/checkpoint.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/train/train_recipe.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/recipes.hpp"
#include "tests/support/tensor_memory.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr const char* small_layers = R"(
[model]
name = "mlp"
hidden = [96, 96, 96, 96, 96, 96, 96, 96, 96, 96, 96, 96, 96, 96, 96]
[dataset]
name = "synthetic"
shape = [96]
train = 32
eval = 8
[loader]
batch_size = 4
[optimizer]
name = "adamw"
lr = 0.01
[train]
max_steps = 4
[eval]
every = "2step"
[[eval.metric]]
name = "loss"
[checkpoint]
every = "2step"
keep = 10
[distributed]
batch = "global"
strategy = "zero3"
unit_size = "40KiB"
)";

Value resolved(const Recipes& files, const fs::path& run, std::vector<std::string> overrides) {
  Registry registry = Registry::of_linked();
  Diagnostics found;
  overrides.push_back("run.dir=" + run.string());
  const auto value = resolve_recipe({files.folder / "main.toml", {}, overrides}, registry, found);
  INFO(render(found));
  REQUIRE(value);
  return *value;
}

// The ranks of a test are threads that share one generator of random numbers: models start from a file.
std::string initial_weights(const Recipes& files, const std::string& model, const Settings& settings,
                            const DataSpec& data) {
  torch::manual_seed(3);
  const fs::path path = files.folder / "initial.safetensors";
  save_weights(ModelWeights(*part<ModelKind>(model, settings).build({data})).all(), path);
  return "model.weights=" + path.string();
}

// Runs the recipe on that many ranks; each of them may take so much memory for tensors. What each threw.
std::vector<std::exception_ptr> train(int ranks, const Value& recipe,
                                      const std::vector<TensorMemory*>& memories = {}) {
  Registry registry = Registry::of_linked();
  return try_on_ranks(ranks, [&](World& world) {
    std::optional<CountOnThisThread> counting;
    if (!memories.empty()) counting.emplace(*memories[static_cast<std::size_t>(world.rank())]);
    train_recipe(recipe, registry, world, {.quiet = true, .force = true});
  });
}

void require_no_errors(const std::vector<std::exception_ptr>& errors) {
  for (const auto& error : errors) REQUIRE(message_of(error) == "");
}

bool same_bits(const std::map<std::string, torch::Tensor>& one,
               const std::map<std::string, torch::Tensor>& other) {
  return one.size() == other.size() && std::ranges::all_of(one, [&](const auto& entry) {
           return torch::equal(entry.second, other.at(entry.first));
         });
}

}  // namespace

TEST_CASE("sharded run: every rank writes its part of model, optimizer and averages", "[zero3]") {
  const Recipes files(small_layers);
  const fs::path run = files.folder / "run";
  const std::string weights = initial_weights(
      files, "mlp", {{"hidden", Setting::list({96, 96, 96, 96, 96, 96, 96, 96, 96, 96, 96, 96, 96, 96, 96})}},
      {.input_shape = {96}, .classes = 10});
  const Value recipe = resolved(files, run, {"hook+=ema", "hook+=nan_guard", weights});
  require_no_errors(train(3, recipe));
  const fs::path last = run / "checkpoints/step-00000004";
  CHECK(damage_of(last) == "");
  for (const std::string state : {"model", "optimizer", "hook.0.ema"}) {
    INFO(state);
    CHECK(fs::exists(last / (state + ".safetensors.index.json")));
    CHECK_FALSE(fs::exists(last / (state + ".safetensors")));
    std::uintmax_t all = 0, most = 0;
    for (int rank = 0; rank < 3; ++rank) {
      const fs::path part = last / RankPart{state, rank, 3}.file();
      REQUIRE(fs::exists(part));
      all += fs::file_size(part);
      most = std::max(most, fs::file_size(part));
    }
    CHECK(most < all / 2);
  }
  CHECK_FALSE(fs::exists(last / RankPart{"hook.1.nan_guard", 0, 3}.file()));  // it has no tensors
  const Checkpoint saved = read_checkpoint(last);
  CHECK(same_bits(saved.states.at("model").tensors, read_safetensors(run / "model.safetensors")));
  CHECK(same_bits(saved.states.at("hook.0.ema").parts.begin()->second.tensors,
                  read_safetensors(run / "ema.safetensors")));

  // And any number of ranks continues with it, with any strategy.
  const auto [ranks, strategy] = GENERATE(table<int, std::string>({{1, "ddp"}, {2, "zero3"}, {4, "zero2"}}));
  CAPTURE(ranks, strategy);
  const Value longer = resolved(
      files, run,
      {"hook+=ema", "hook+=nan_guard", "train.max_steps=6", weights, "distributed.strategy=" + strategy,
       strategy == "zero3" ? "distributed.unit_size=80KiB" : "~distributed.unit_size"});
  require_no_errors(train(ranks, longer));
  const fs::path undisturbed = files.folder / "undisturbed";
  require_no_errors(
      train(1, resolved(files, undisturbed, {"hook+=ema", "hook+=nan_guard", "train.max_steps=6", weights})));
  for (const char* const file : {"model.safetensors", "ema.safetensors"}) {
    const auto expected = read_safetensors(undisturbed / file), found = read_safetensors(run / file);
    for (const auto& [name, tensor] : expected) {
      INFO(name);
      CHECK(torch::allclose(tensor, found.at(name), 1e-3, 1e-4));
    }
  }
}

TEST_CASE("sharded run: a model that one rank has no memory for trains on four, and is saved", "[zero3]") {
  const Recipes files(small_layers);
  constexpr std::int64_t weights = 4 * (15 * (96 * 96 + 96) + 96 * 10 + 10);
  constexpr std::int64_t limit = weights * 9 / 5;  // with AdamW one rank takes four times the weights
  std::vector<TensorMemory*> memories;
  for (int rank = 0; rank < 4; ++rank) {
    memories.push_back(&CountedTensors::new_memory());
    memories.back()->set_limit(limit);
  }
  const CountedTensors counted;
  const std::vector<std::string> more{"checkpoint.async=false"};  // no copies while training continues
  const auto alone = train(1, resolved(files, files.folder / "alone", more), memories);
  CHECK_THAT(message_of(alone[0]), ContainsSubstring("memory"));

  for (TensorMemory*& memory : memories) {
    memory = &CountedTensors::new_memory();
    memory->set_limit(limit);
  }
  const fs::path run = files.folder / "run";
  require_no_errors(train(4, resolved(files, run, more), memories));
  CHECK(fs::exists(run / "model.safetensors"));
  CHECK(damage_of(run / "checkpoints/step-00000004") == "");
  for (const TensorMemory* memory : memories) CHECK(memory->most() > weights / 2);  // it was measured
}

TEST_CASE("sharded run: every hook of the registry sees what it sees with ddp", "[zero3]") {
  // The profiler is left out: the ranks of a test are threads, and a process has one profiler.
  static const std::map<std::string, std::string> settings{{"early_stop", "metric=\"eval/loss\""},
                                                           {"ema", ""},
                                                           {"freeze", "match=[\"layer1.*\"]\nfrom=\"2step\""},
                                                           {"gradient_noise", ""},
                                                           {"histograms", "every=1"},
                                                           {"lr_finder", "steps=10"},
                                                           {"nan_guard", ""},
                                                           {"profiler", "-"},
                                                           {"sample_predictions", ""},
                                                           {"swa", "from=\"1step\"\nevery=\"1step\""},
                                                           {"throughput", ""},
                                                           {"time_limit", "limit=\"1h\""}};
  static const auto names = [] {
    auto all = Registry::of_linked().names(HookKind::name);
    std::erase_if(all, [](const std::string& name) {
      const std::string_view file =
          find_component(Registry::of_linked(), HookKind::name, name).where.file_name();
      return file.find("tests/") != std::string_view::npos;
    });
    return all;
  }();
  const std::string name = GENERATE(from_range(names));
  CAPTURE(name);
  REQUIRE(settings.contains(name));  // a new hook needs a line above
  if (settings.at(name) == "-") return;
  const Recipes files(R"(
[model]
name = "resnet20"
[dataset]
name = "synthetic"
shape = [3, 16, 16]
train = 32
eval = 8
[loader]
batch_size = 4
[optimizer]
name = "sgd"
lr = 0.01
[train]
max_steps = 10
[eval]
every = "5step"
[[eval.metric]]
name = "loss"
[checkpoint]
every = "5step"
[[hook]]
)" + ("name = \"" + name + "\"\n") +
                      settings.at(name));
  const fs::path one = files.folder / "ddp", other = files.folder / "zero3";
  const std::string weights =
      initial_weights(files, "resnet20", {}, {.input_shape = {3, 16, 16}, .classes = 10});
  require_no_errors(train(2, resolved(files, one, {"distributed.strategy=ddp", weights})));
  require_no_errors(train(
      2, resolved(files, other, {"distributed.strategy=zero3", "distributed.unit_size=300kB", weights})));
  for (const auto& entry : fs::directory_iterator(one)) {
    if (entry.path().extension() != ".safetensors") continue;
    INFO(entry.path().filename().string());
    const auto expected = read_safetensors(entry.path()),
               found = read_safetensors(other / entry.path().filename());
    REQUIRE(found.size() == expected.size());
    for (const auto& [key, tensor] : expected)
      CHECK(torch::allclose(tensor.to(torch::kDouble), found.at(key).to(torch::kDouble), 1e-3, 1e-4));
  }
}
