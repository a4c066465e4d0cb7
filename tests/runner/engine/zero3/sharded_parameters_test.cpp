#include "runner/engine/zero3/sharded_parameters.hpp"

#include <torch/nn.h>

#include "components/precisions/autocast.hpp"
#include "components/precisions/no_autocast_cache.hpp"
#include "runner/engine/zero3/parameter_units.hpp"
#include "runner/engine/zero3/sharding.hpp"
#include "tests/support/sharded_training.hpp"

using namespace runner;
using namespace runner::testing;
using namespace runner::testing::sharded_training;

TEST_CASE("sharded parameters: units keep modules together, and only a single parameter is larger",
          "[zero3]") {
  const auto model = make("gpt", tiny, windows);
  std::size_t count = 0;
  for (const std::uint64_t most : {500, 4000, 100000}) {
    std::vector<std::string> names;
    for (const auto& unit : cut_into_units(*model, most)) {
      std::uint64_t bytes = 0;
      for (const auto& [name, parameter] : unit) {
        bytes += parameter.nbytes();
        names.push_back(name);
      }
      CHECK((bytes <= most || unit.size() == 1));
    }
    CHECK(names == model->named_parameters().keys());
    count = cut_into_units(*model, most).size();
  }
  CHECK(count == 1);
  const auto blocks = cut_into_units(*model, 4000);
  const auto in_first_block = [](const NamedTensor& each) {
    return each.name.find(".h.0.") != std::string::npos;
  };
  CHECK(std::ranges::count_if(
            blocks, [&](const auto& unit) { return std::ranges::any_of(unit, in_first_block); }) == 1);
  auto units = cut_into_units(*model, 4000);
  const auto multiplied = put_multiplied_first(units, *model);
  for (std::size_t i = 0; i < units.size(); ++i) {
    CHECK(units[i].size() == blocks[i].size());
    for (std::size_t p = 0; p < units[i].size(); ++p) {
      const auto& [name, parameter] = units[i][p];
      const bool table = name.find("wte") != std::string::npos || name.find("wpe") != std::string::npos;
      CHECK((p < multiplied[i]) == (parameter.dim() == 2 && !table));
    }
  }
  torch::nn::Sequential mixed(torch::nn::Linear(2, 2), torch::nn::Linear(2, 2));
  mixed[1]->to(torch::kDouble);
  CHECK(cut_into_units(*mixed, 1000).size() == 2);
}

TEST_CASE("sharded parameters: ranks that run different parts of the model help each other", "[zero3]") {
  const std::optional<torch::ScalarType> cast =
      GENERATE(std::optional<torch::ScalarType>(), std::optional(torch::kBFloat16));
  on_ranks(3, [&](World& world) {
    const auto model = make("mlp", {{"hidden", Setting::list({8, 8, 8})}}, images);
    std::map<std::string, torch::Tensor> whole;
    for (const auto& item : model->named_parameters()) whole[item.key()] = item.value().detach().clone();
    Sharding sharding(world, *model, {.unit_bytes = 300, .cast = cast});
    // Each rank reads the layers in an order of its own, and rank 2 reads none.
    const auto names = model->named_parameters().keys();
    const auto step = static_cast<std::size_t>(world.rank() == 0 ? 1 : 3);
    if (world.rank() < 2) {
      const ForwardPass pass(&sharding);
      for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string& name = names[i * step % names.size()];
        require(torch::equal(model->named_parameters()[name].add(0), whole.at(name)), name);
      }
    }
    sharding.parameters.join();
  });
}

TEST_CASE("sharded parameters: what a pass writes into parameters stays", "[zero3]") {
  const std::optional<torch::ScalarType> cast =
      GENERATE(std::optional<torch::ScalarType>(), std::optional(torch::kBFloat16));
  on_ranks(2, [&](World& world) {
    const auto model = make("mlp", {}, images);
    Sharding sharding(world, *model, {.unit_bytes = 3000, .cast = cast});
    {
      const torch::NoGradGuard no_grad;
      const ForwardPass pass(&sharding);
      const AutocastScope autocast(torch::kCPU, torch::kBFloat16);
      const NoAutocastCache no_cache;  // which would not notice
      const torch::Tensor input = torch::ones({1, model->parameters()[0].size(1)});
      torch::linear(input, model->parameters()[0]);  // gathered, and out of date once it is written to
      for (const torch::Tensor& parameter : model->parameters()) parameter.fill_(2);
      const torch::Tensor output = torch::linear(input, model->parameters()[0]);
      require(output.eq(2 * input.numel()).all().item<bool>(), "autocast gets what was written");
    }
    sharding.parameters.join();
    sharding.weights.visit(
        [](const std::string& name, const torch::Tensor& value, const torch::Tensor& gradient) {
          require(value.eq(2).all().item<bool>() && !gradient.defined(), name);
        });
  });
}

TEST_CASE("sharded parameters: an operator that only reads a parameter does not write it back", "[zero3]") {
  on_ranks(2, [](World& world) {
    const auto model = make("mlp", {}, images);
    Sharding sharding(world, *model, {.unit_bytes = 3000});
    const torch::NoGradGuard no_grad;
    const auto parameters = model->named_parameters();
    {
      const ForwardPass pass(&sharding);
      const torch::Tensor& bias = parameters["fc1.bias"];
      torch::Tensor activation = torch::zeros_like(bias);
      activation.add_(bias);  // gathers it
      const torch::Tensor slice = sharding.parameters.slice_of(bias);
      {
        const OperatorModePause pause;
        slice.fill_(7);
      }
      activation.add_(bias);
      const OperatorModePause pause;
      require(slice.eq(7).all().item<bool>(), "the slice is as it was");
    }
    sharding.parameters.join();
  });
}

TEST_CASE("sharded parameters: every rank saves a part, whole tensors, and none of them twice", "[zero3]") {
  Case about;
  about.optimizer = GENERATE("adamw", "lamb");
  const auto saved = train_each(3, sharded(about, 900));
  const Trained one = train_alone(about);
  const auto check = [](const std::vector<const State*>& parts, const State& whole) {
    std::int64_t most = 0;
    std::size_t count = 0;
    for (const State* part : parts) {
      count += part->tensors.size();
      most = std::max(most, part->bytes());
      for (const auto& [name, tensor] : part->tensors)
        CHECK(tensor.sizes() == whole.tensors.at(name).sizes());
    }
    CHECK(count == whole.tensors.size());
    CHECK(most < whole.bytes() / 2);  // a third, as far as units can be shared out
  };
  check({&saved[0].model, &saved[1].model, &saved[2].model}, one.model);
  check({&saved[0].optimizer, &saved[1].optimizer, &saved[2].optimizer}, one.optimizer);
  check({&saved[0].average.parts.at("average"), &saved[1].average.parts.at("average"),
         &saved[2].average.parts.at("average")},
        one.average.parts.at("average"));
}
