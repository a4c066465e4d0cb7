#include <torch/nn.h>

#include <catch2/catch_all.hpp>

#include "tests/support/rank_training.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

// Remembers which of its inputs dropout has kept.
class Dropping final : public Model {
 public:
  Dropping() { linear_ = register_module("linear", torch::nn::Linear(3, 3)); }

  torch::Tensor forward(const Batch& batch) override {
    kept = torch::dropout(torch::ones({64, 3}), 0.5, is_training()) != 0;
    return linear_(batch.input) * kept.sum();
  }

  torch::Tensor kept;

 private:
  torch::nn::Linear linear_{nullptr};
};

// A rank whose others are just like it. As threads of one process, real ranks would share its random
// generator.
class OneOfThree final : public World {
 public:
  explicit OneOfThree(int rank) : World({rank, 3, rank, 3, "here"}) {}

  Work begin_all_gather(const torch::Tensor& all, const torch::Tensor& part, std::string_view) override {
    all.view({3, -1}).copy_(part.view({1, -1}).clone());
    return {};
  }
};

// What dropout keeps in two windows, of different seeds.
std::vector<torch::Tensor> kept_on(World& world) {
  EngineOptions options;
  options.precision = [](const PrecisionInputs& inputs) { return part<PrecisionKind>("fp32").build(inputs); };
  Engine engine(options, world);
  const auto model = std::make_shared<Dropping>();
  engine.prepare(model, [](const auto& parameters) {
    return part<OptimizerKind>("sgd", {{"lr", 0.05}}).build({make_groups(parameters, {})});
  });
  const auto loss = part<LossKind>("mse").build({});
  std::vector<torch::Tensor> kept;
  for (const std::uint64_t seed : {1, 2}) {
    Window window;
    window.seed = seed;
    window.batches.push_back(examples(0, 4));  // the same on all ranks
    engine.accumulate(window, *loss);
    engine.update(1);
    kept.push_back(model->kept);
  }
  return kept;
}

}  // namespace

TEST_CASE("ranks: dropout differs from rank to rank, and the first rank's is that of a single process") {
  World alone;
  const auto single = kept_on(alone);
  std::vector<std::vector<torch::Tensor>> kept;
  for (int rank = 0; rank < 3; ++rank) {
    OneOfThree world(rank);
    kept.push_back(kept_on(world));
  }
  for (std::size_t window = 0; window < 2; ++window) {
    CHECK(torch::equal(kept[0][window], single[window]));
    CHECK_FALSE(torch::equal(kept[0][window], kept[1][window]));
    CHECK_FALSE(torch::equal(kept[1][window], kept[2][window]));
    CHECK_FALSE(torch::equal(kept[0][window], kept[2][window]));
  }
  CHECK_FALSE(torch::equal(kept[1][0], kept[1][1]));
}
