// Checkpoints of a user's own training loop: what is saved, continued and refused.
#include <torch/optim/adam.h>
#include <torch/optim/schedulers/step_lr.h>
#include <torch/optim/sgd.h>

#include <catch2/catch_all.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/accelerator/accelerator.hpp"
#include "runner/checkpoint/checkpoint.hpp"
#include "tests/runner/accelerator/small_training.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Counter final : Stateful {
  std::int64_t count = 0;
  State save() const override { return {.integers = {{"count", count}}}; }
  void load(const State& state) override { count = StateReader(state).integer("count"); }
};

// Dropout, Adam, a schedule and a loader; saved in the middle of the second epoch where asked.
template <class Sampler>
torch::Tensor train_and_save(World& world, const std::filesystem::path& folder, double dropout, bool save,
                             bool resume) {
  torch::manual_seed(7 + static_cast<std::uint64_t>(world.rank()));
  torch::nn::Sequential model(torch::nn::Linear(3, 8), torch::nn::Dropout(dropout), torch::nn::Linear(8, 1));
  torch::optim::Adam adam(model->parameters(), 0.01);
  torch::optim::StepLR step_lr(adam, 3, 0.7);
  Accelerator accelerator(world, {.device = "cpu"});
  auto [prepared, optimizer, scheduler, loader] =
      accelerator.prepare(model, adam, step_lr, loader_of<Sampler>(24, 3));
  Counter counter;
  accelerator.register_for_checkpointing("counter", counter);
  std::int64_t skip = 0;
  if (resume) {
    torch::manual_seed(99);
    accelerator.load_state(folder);
    skip = loader.position();
  }
  while (loader.epoch() < 3) {
    for (auto& batch : accelerator.skip_first_batches(loader, std::exchange(skip, 0))) {
      accelerator.backward(torch::mse_loss(model->forward(batch.data), batch.target));
      optimizer.step();
      scheduler.step();
      optimizer.zero_grad();
      if (++counter.count == 8 / world.size() + 2 && save) accelerator.save_state(folder);
    }
  }
  if (counter.count != 24 / world.size()) throw std::runtime_error("steps were lost or repeated");
  return weights_of(*model);
}

}  // namespace

TEST_CASE("accelerator: saved in the middle of an epoch, it continues with the same bits",
          "[accelerator][ranks]") {
  const int ranks = GENERATE(1, 2);
  // Ranks as threads share LibTorch's generator, processes do not: dropout and shuffling are for one.
  if (ranks == 1) {
    const TemporaryFolder folder;
    World alone;
    const torch::Tensor whole = train_and_save<Random>(alone, folder / "state", 0.3, true, false);
    const torch::Tensor resumed = train_and_save<Random>(alone, folder / "state", 0.3, false, true);
    CHECK(torch::equal(whole, resumed));
    const Checkpoint saved = read_checkpoint(folder / "state");
    CHECK(saved.step == 10);
    CHECK(saved.states.at("optimizer").tensors.contains("0.weight.exp_avg"));
    CHECK(saved.states.at("optimizer").integers.at("0.weight.step") == 10);
    CHECK(saved.states.contains("object.counter"));
  } else {
    const TemporaryFolder folder;
    std::vector<torch::Tensor> whole(2), resumed(2);
    on_ranks(ranks, [&](World& world) {
      whole[static_cast<std::size_t>(world.rank())] =
          train_and_save<Sequential>(world, folder / "state", 0, true, false);
    });
    on_ranks(ranks, [&](World& world) {
      resumed[static_cast<std::size_t>(world.rank())] =
          train_and_save<Sequential>(world, folder / "state", 0, false, true);
    });
    CHECK(torch::equal(whole[0], whole[1]));
    CHECK(torch::equal(whole[0], resumed[0]));
    CHECK(torch::equal(whole[1], resumed[1]));
  }
}

TEST_CASE("accelerator: a state may be saved in the current folder", "[accelerator]") {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  World alone;
  torch::nn::Linear model = model_of_test();
  Accelerator accelerator(alone, {.device = "cpu"});
  accelerator.prepare(model);
  CHECK_NOTHROW(accelerator.save_state("state"));
  CHECK_NOTHROW(accelerator.load_state("state"));
  for (int again = 0; again < 2; ++again) CHECK_NOTHROW(accelerator.save_state("completed/"));
  CHECK_NOTHROW(accelerator.load_state("completed/"));
  std::filesystem::current_path(before);
}

TEST_CASE("accelerator: a state that was being replaced when the process was killed is found and loaded",
          "[accelerator]") {
  const TemporaryFolder folder;
  World alone;
  torch::nn::Linear model = model_of_test();
  Accelerator accelerator(alone, {.device = "cpu"});
  accelerator.prepare(model);
  accelerator.save_state(folder / "state");
  const torch::Tensor before = weights_of(*model);
  torch::nn::init::zeros_(model->weight);
  const torch::Tensor after = weights_of(*model);
  accelerator.save_state(folder / "next");
  const bool asks_first = GENERATE(false, true);
  // The next state is complete, but has not been moved into its place, or only some of its files have.
  std::filesystem::rename(folder / "next", folder / "state/.saved-state");
  if (GENERATE(false, true))
    std::filesystem::rename(folder / "state/.saved-state/model.safetensors",
                            folder / "state/model.safetensors");
  torch::nn::init::ones_(model->weight);
  if (asks_first) CHECK(accelerator.has_state(folder / "state/"));
  CHECK_NOTHROW(accelerator.load_state(folder / "state"));
  CHECK_FALSE(torch::equal(before, after));
  CHECK(torch::equal(weights_of(*model), after));
}

TEST_CASE("accelerator: trackers of a resumed training drop what was logged after its state",
          "[accelerator]") {
  const TemporaryFolder folder;
  World alone;
  const auto train = [&](std::optional<std::int64_t> resumed_at, std::int64_t until, bool save) {
    torch::nn::Linear model = model_of_test();
    Accelerator accelerator(alone, {.device = "cpu"});
    accelerator.prepare(model);
    if (resumed_at) accelerator.load_state(folder / "state");
    accelerator.init_trackers("small", folder / "run", {}, resumed_at);
    for (std::int64_t step = resumed_at.value_or(0) + 1; step <= until; ++step) {
      accelerator.log({{"loss", 1.0 / static_cast<double>(step)}}, step);
      if (save && step == 2) {
        accelerator.save_state(folder / "state");
        // What was logged before is on disk.
        CHECK_THAT(read_text(folder / "run/metrics.jsonl"), ContainsSubstring("\"step\":2"));
      }
    }
    accelerator.end_training();
  };
  train(std::nullopt, 4, true);
  train(2, 3, false);
  std::ifstream metrics(folder / "run/metrics.jsonl");
  std::vector<std::int64_t> steps;
  for (std::string line; std::getline(metrics, line);)
    steps.push_back(nlohmann::json::parse(line).at("step").get<std::int64_t>());
  CHECK(steps == std::vector<std::int64_t>{1, 2, 3});
}

namespace {

// Gives `batches` of the 12 to each rank, and saves; or loads. Returns the examples that this rank gets after
// that.
std::vector<std::int64_t> pass_in_parts(World& world, const std::filesystem::path& folder,
                                        std::optional<std::int64_t> batches) {
  torch::nn::Linear model = model_of_test();
  Accelerator accelerator(world, {.device = "cpu"});
  auto [prepared, loader] = accelerator.prepare(model, loader_of<Sequential>(12, 1));
  if (!batches) accelerator.load_state(folder);
  std::vector<std::int64_t> examples;
  for (auto& batch : accelerator.skip_first_batches(loader, batches ? 0 : loader.position())) {
    if (!batches) examples.push_back(batch.data[0][0].template item<std::int64_t>());
    if (batches && loader.position() == *batches) {
      accelerator.save_state(folder);
      break;
    }
  }
  return examples;
}

}  // namespace

TEST_CASE("accelerator: on another number of ranks, a pass continues after the same examples",
          "[accelerator][ranks]") {
  const TemporaryFolder folder;
  on_ranks(2, [&](World& world) { pass_in_parts(world, folder / "state", 3); });
  SECTION("on fewer") {
    World alone;
    CHECK(pass_in_parts(alone, folder / "state", std::nullopt) ==
          std::vector<std::int64_t>{6, 7, 8, 9, 10, 11});
  }
  SECTION("on more") {
    std::vector<std::vector<std::int64_t>> examples(3);
    on_ranks(3, [&](World& world) {
      examples[static_cast<std::size_t>(world.rank())] = pass_in_parts(world, folder / "state", std::nullopt);
    });
    CHECK(examples == std::vector<std::vector<std::int64_t>>{{6, 9}, {7, 10}, {8, 11}});
  }
}

TEST_CASE("accelerator: a number of ranks that cannot continue in the middle of a pass is refused",
          "[accelerator]") {
  LoaderPlace saved, other;
  saved.ranks = 2;
  saved.position = 3;
  saved.epoch = 5;
  other.ranks = 4;
  CHECK_THROWS_WITH(other.load(saved.save()), ContainsSubstring("after 6 batches") &&
                                                  ContainsSubstring("use as many ranks as before (2)"));
  saved.position = 0;
  other.load(saved.save());
  CHECK(other.epoch == 5);
  CHECK(other.position == 0);
}

TEST_CASE("accelerator: parameters of two models with the same name keep their own optimizer state",
          "[accelerator]") {
  // The second layer of the first model and the second model are both called "1".
  const bool of_runner = GENERATE(false, true);
  const TemporaryFolder folder;
  World alone;
  const auto train = [&](bool resume) {
    torch::manual_seed(1);
    torch::nn::Sequential two_layers(torch::nn::Linear(3, 3), torch::nn::Linear(3, 3));
    torch::nn::Linear head(3, 3);
    std::vector<torch::Tensor> parameters = two_layers->parameters();
    for (const torch::Tensor& parameter : head->parameters()) parameters.push_back(parameter);
    torch::optim::Adam adam(parameters, 0.01);
    Accelerator accelerator(alone, {.device = "cpu"});
    accelerator.prepare(two_layers, head);
    PreparedOptimizer optimizer =
        of_runner ? accelerator.build_optimizer({"adam", {{"lr", 0.01}}}) : accelerator.prepare(adam);
    if (resume) accelerator.load_state(folder / "state");
    for (int step = resume ? 2 : 0; step < 4; ++step) {
      if (step == 2 && !resume) accelerator.save_state(folder / "state");
      accelerator.backward(head(two_layers->forward(torch::full({1, 3}, step + 1.0F))).pow(2).sum());
      optimizer.step();
      optimizer.zero_grad();
    }
    return torch::cat({weights_of(*two_layers), weights_of(*head)});
  };
  const torch::Tensor whole = train(false);
  CHECK(torch::equal(whole, train(true)));
}

TEST_CASE("accelerator: going back to a state before the first update also clears the optimizer's state",
          "[accelerator]") {
  const TemporaryFolder folder;
  World alone;
  torch::nn::Linear model = model_of_test();
  torch::optim::Adam adam(model->parameters(), 0.01);
  Accelerator accelerator(alone, {.device = "cpu"});
  accelerator.prepare(model);
  PreparedOptimizer optimizer = accelerator.prepare(adam);
  accelerator.save_state(folder / "state");
  const auto train = [&] {
    for (int step = 0; step < 3; ++step) {
      accelerator.backward(model(torch::full({1, 3}, step + 1.0F)).pow(2).sum());
      optimizer.step();
      optimizer.zero_grad();
    }
    return weights_of(*model);
  };
  const torch::Tensor first = train();
  accelerator.load_state(folder / "state");
  CHECK(adam.state().empty());
  CHECK(torch::equal(train(), first));
}

TEST_CASE("accelerator: gradients from before a load are dropped, also in the middle of accumulation",
          "[accelerator]") {
  const TemporaryFolder folder;
  World alone;
  torch::nn::Linear model = model_of_test();
  torch::optim::SGD sgd(model->parameters(), 0.1);
  Accelerator accelerator(alone, {.accumulation_steps = 2, .device = "cpu"});
  accelerator.prepare(model);
  PreparedOptimizer optimizer = accelerator.prepare(sgd);
  accelerator.save_state(folder / "state");
  const auto pass = [&](float input) {
    const auto accumulating = accelerator.accumulate();
    accelerator.backward(model(torch::full({1, 3}, input)).sum());
    return accelerator.sync_gradients();
  };
  const int passes = GENERATE(1, 2);  // in the middle of a window; before the update
  for (int i = 0; i < passes; ++i) pass(100);
  accelerator.load_state(folder / "state");
  CHECK_FALSE(pass(1));
  CHECK(pass(1));
  CHECK(torch::equal(model->weight.grad(), torch::ones({1, 3})));
}

TEST_CASE("accelerator: a state of another model or optimizer is refused by name", "[accelerator]") {
  const TemporaryFolder folder;
  World alone;
  {
    torch::nn::Linear model = model_of_test();
    torch::optim::Adam adam(model->parameters(), 0.01);
    Accelerator accelerator(alone, {.device = "cpu"});
    auto [prepared, optimizer] = accelerator.prepare(model, adam);
    accelerator.backward(model(torch::ones({1, 3})).sum());
    optimizer.step();
    accelerator.save_state(folder / "state");
  }
  torch::nn::Linear other(4, 1);
  Accelerator accelerator(alone, {.device = "cpu"});
  accelerator.prepare(other);
  CHECK_THROWS_WITH(accelerator.load_state(folder / "state"), ContainsSubstring("optimizer"));
  torch::optim::Adam adam(other->parameters(), 0.01);
  accelerator.prepare(adam);
  CHECK_THROWS_WITH(accelerator.load_state(folder / "state"), ContainsSubstring("weight"));
}

namespace {

// An optimizer of the user's own whose state holds a number.
struct ShrinkingOptions : torch::optim::OptimizerCloneableOptions<ShrinkingOptions> {
  explicit ShrinkingOptions(double lr = 0.1) : lr_(lr) {}
  TORCH_ARG(double, lr);

 public:
  void serialize(torch::serialize::InputArchive& archive) override {
    torch::IValue lr;
    archive.read("lr", lr);
    lr_ = lr.toDouble();
  }
  void serialize(torch::serialize::OutputArchive& archive) const override { archive.write("lr", lr_); }
  double get_lr() const override { return lr_; }
  void set_lr(const double lr) override { lr_ = lr; }
};

struct ShrinkingState : torch::optim::OptimizerCloneableParamState<ShrinkingState> {
  TORCH_ARG(double, size) = 1;

 public:
  void serialize(torch::serialize::InputArchive& archive) override {
    torch::IValue size;
    archive.read("size", size);
    size_ = size.toDouble();
  }
  void serialize(torch::serialize::OutputArchive& archive) const override { archive.write("size", size_); }
};

struct Shrinking : torch::optim::Optimizer {
  explicit Shrinking(const std::vector<torch::Tensor>& parameters)
      : Optimizer({torch::optim::OptimizerParamGroup(parameters)}, std::make_unique<ShrinkingOptions>()) {}
  torch::Tensor step(LossClosure = nullptr) override {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : param_groups()[0].params()) {
      auto& state = state_[parameter.unsafeGetTensorImpl()];
      if (!state) state = std::make_unique<ShrinkingState>();
      auto& own = static_cast<ShrinkingState&>(*state);
      parameter.sub_(parameter.grad(), own.size());
      own.size(own.size() / 2);
    }
    return {};
  }
  void save(torch::serialize::OutputArchive& archive) const override {
    torch::optim::serialize<ShrinkingState, ShrinkingOptions>(archive, *this);
  }
  void load(torch::serialize::InputArchive& archive) override {
    torch::optim::serialize<ShrinkingState, ShrinkingOptions>(archive, *this);
  }
};

}  // namespace

TEST_CASE("accelerator: numbers in the state of a LibTorch optimizer are saved and loaded", "[accelerator]") {
  const TemporaryFolder folder;
  World alone;
  const auto update = [](Accelerator& accelerator, torch::nn::Linear& model, PreparedOptimizer& optimizer) {
    accelerator.backward(model(torch::ones({1, 3})).sum());
    optimizer.step();
    optimizer.zero_grad();
  };
  torch::nn::Linear model = model_of_test(), resumed = model_of_test();
  {
    Shrinking shrinking(model->parameters());
    Accelerator accelerator(alone, {.device = "cpu"});
    auto [prepared, optimizer] = accelerator.prepare(model, shrinking);
    update(accelerator, model, optimizer);
    accelerator.save_state(folder / "state");
    update(accelerator, model, optimizer);
  }
  Shrinking shrinking(resumed->parameters());
  Accelerator accelerator(alone, {.device = "cpu"});
  auto [prepared, optimizer] = accelerator.prepare(resumed, shrinking);
  accelerator.load_state(folder / "state");
  update(accelerator, resumed, optimizer);
  CHECK(torch::equal(weights_of(*resumed), weights_of(*model)));
}
