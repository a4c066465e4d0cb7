#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/optimizers/optimizer.hpp"
#include "tests/support/operators.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/wave.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a gradient in another memory layout than its parameter is applied where it belongs",
          "[optimizers]") {
  const torch::Tensor start = wave({2, 3, 4, 4}, 0.5), gradient = wave({2, 3, 4, 4}, 1.5);
  const std::string name = GENERATE("sgd", "adam");
  const auto updated = [&](const torch::Tensor& parameter, const torch::Tensor& with) {
    parameter.mutable_grad() = with;
    part<OptimizerKind>(name).build({{{{"conv.weight"}, {parameter}}}})->step(1.0);
    return parameter.detach();
  };
  const auto channels_last = at::MemoryFormat::ChannelsLast;
  const torch::Tensor plain = updated(start.clone().requires_grad_(), gradient);
  const torch::Tensor mixed = updated(start.clone(channels_last).requires_grad_(), gradient);
  const torch::Tensor both =
      updated(start.clone(channels_last).requires_grad_(), gradient.clone(channels_last));
  REQUIRE(torch::allclose(plain, mixed, 0, 1e-7));
  REQUIRE(torch::allclose(plain, both, 0, 1e-7));
  REQUIRE_FALSE(torch::allclose(plain, start));
}

TEST_CASE("nothing is copied to update parameters in channels_last", "[optimizers]") {
  const auto channels_last = at::MemoryFormat::ChannelsLast;
  const torch::Tensor parameter = wave({2, 3, 4, 4}, 0.5).clone(channels_last).requires_grad_();
  parameter.mutable_grad() = wave({2, 3, 4, 4}, 1.5).clone(channels_last);
  const auto optimizer =
      part<OptimizerKind>(GENERATE("sgd", "adam", "adagrad")).build({{{{"conv.weight"}, {parameter}}}});
  optimizer->step(1.0);  // makes its state
  const auto counts = operators_of([&] { optimizer->step(1.0); });
  REQUIRE(total(counts) > 0);
  REQUIRE_FALSE(counts.contains("aten::copy_"));
}

TEST_CASE("parameters of several types share one optimizer", "[optimizers]") {
  const torch::Tensor single = wave({4}, 0.1).requires_grad_();
  const torch::Tensor wide = wave({4}, 0.1).to(torch::kFloat64).requires_grad_();
  single.mutable_grad() = torch::ones({4});
  wide.mutable_grad() = torch::ones({4}, torch::kFloat64);
  const auto optimizer = part<OptimizerKind>("sgd", {{"lr", 0.5}}).build({{{{"a", "b"}, {single, wide}}}});
  optimizer->step(1.0);
  REQUIRE(torch::allclose(single.detach(), wave({4}, 0.1) - 0.5));
  REQUIRE(torch::allclose(wide.detach(), wave({4}, 0.1).to(torch::kFloat64) - 0.5));
}

TEST_CASE("gradients are not kept after an update", "[optimizers]") {
  const torch::Tensor parameter = wave({4}, 0.1).requires_grad_();
  parameter.mutable_grad() = torch::ones({4});
  const torch::Tensor gradient = parameter.grad();
  const auto references = gradient.use_count();
  const auto optimizer = part<OptimizerKind>("adam").build({{{{"a"}, {parameter}}}});
  optimizer->step(1.0);
  REQUIRE(gradient.use_count() == references);
}

TEST_CASE("an optimizer that has made updates goes back to the state that it loads", "[optimizers]") {
  const torch::Tensor parameter = wave({4}, 0.1).requires_grad_();
  const auto optimizer = part<OptimizerKind>(GENERATE("sgd", "adam")).build({{{{"a"}, {parameter}}}});
  const auto update = [&](double gradient) {
    parameter.mutable_grad() = torch::full({4}, gradient);
    optimizer->step(1.0);
  };
  update(0.5);
  const State state = optimizer->save().copy();
  const torch::Tensor weights = parameter.detach().clone();
  update(-1);
  const torch::Tensor expected = parameter.detach().clone();
  update(3);
  optimizer->load(state);
  {
    const torch::NoGradGuard no_grad;
    parameter.copy_(weights);
  }
  update(-1);
  REQUIRE(torch::equal(parameter.detach(), expected));
}

TEST_CASE("lamb updates parameters that it takes in several portions as it does each alone", "[optimizers]") {
  constexpr std::int64_t several_mb = 1 << 20;  // numbers
  std::vector<std::string> names{"a", "b", "c"};
  std::vector<torch::Tensor> together, alone;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const torch::Tensor start = wave({several_mb}, 0.1 + static_cast<double>(i));
    together.push_back(start.clone().requires_grad_());
    alone.push_back(start.clone().requires_grad_());
    const auto optimizer = part<OptimizerKind>("lamb").build({{{{names[i]}, {alone[i]}}}});
    for (int step = 0; step < 2; ++step) {
      alone[i].mutable_grad() = wave({several_mb}, 0.3 * static_cast<double>(i) + step);
      optimizer->step(1.0);
    }
  }
  const auto optimizer = part<OptimizerKind>("lamb").build({{{names, together}}});
  for (int step = 0; step < 2; ++step) {
    for (std::size_t i = 0; i < names.size(); ++i)
      together[i].mutable_grad() = wave({several_mb}, 0.3 * static_cast<double>(i) + step);
    optimizer->step(1.0);
  }
  for (std::size_t i = 0; i < names.size(); ++i) REQUIRE(torch::equal(together[i], alone[i]));
}

TEST_CASE("saved state that does not fit is refused by name", "[optimizers]") {
  const torch::Tensor parameter = wave({4}, 0.1).requires_grad_();
  parameter.mutable_grad() = torch::ones({4});
  const auto adam = part<OptimizerKind>("adam").build({{{{"fc.weight"}, {parameter}}}});
  REQUIRE(adam->save().tensors.empty());
  adam->step(1.0);
  const State state = adam->save();
  REQUIRE(state.tensors.contains("fc.weight.exp_avg"));
  REQUIRE(state.integers.at("fc.weight.step") == 1);

  const auto other = part<OptimizerKind>("adam").build({{{{"head.weight"}, {parameter}}}});
  REQUIRE_THROWS_WITH(other->load(state), ContainsSubstring("\"fc.weight.exp_avg\""));
  const auto sgd = part<OptimizerKind>("sgd").build({{{{"fc.weight"}, {parameter}}}});
  REQUIRE_THROWS_WITH(sgd->load(state), ContainsSubstring("lacks \"fc.weight.momentum_buffer\""));
  const auto longer = part<OptimizerKind>("adam").build({{{{"fc.weight"}, {wave({5}, 0).requires_grad_()}}}});
  REQUIRE_THROWS_WITH(longer->load(state), ContainsSubstring("[4]") && ContainsSubstring("[5]"));
}

TEST_CASE("settings that contradict each other are found before anything is built", "[optimizers]") {
  REQUIRE_THROWS_WITH(part<OptimizerKind>("sgd", {{"momentum", 0.0}, {"nesterov", true}}),
                      ContainsSubstring("needs momentum above 0"));
  REQUIRE_THROWS_WITH(part<OptimizerKind>("sgd", {{"dampening", 0.1}, {"nesterov", true}}),
                      ContainsSubstring("needs dampening = 0"));
  REQUIRE_THROWS_WITH(part<OptimizerKind>("adamw", {{"betas", Setting::list({0.9})}}),
                      ContainsSubstring("takes two numbers"));
  REQUIRE_THROWS_WITH(part<OptimizerKind>("adam", {{"betas", Setting::list({0.9, 1.0})}}),
                      ContainsSubstring("betas.1"));
}

}  // namespace
}  // namespace runner::testing
