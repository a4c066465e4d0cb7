#include "runner/engine/zero3/sharded_unit.hpp"

#include <torch/utils.h>

#include <catch2/catch_all.hpp>

using namespace runner;

TEST_CASE("sharded unit: a gradient that comes twice in one backward is summed, and counted once",
          "[zero3]") {
  World alone;
  const torch::Tensor one = torch::zeros({2, 2}).requires_grad_(), two = torch::zeros({3}).requires_grad_();
  ParameterValues in_model;
  ShardedUnit unit(alone, alone, {{"one", one}, {"two", two}}, {}, in_model);
  const auto complete = [&](std::size_t parameter, double value) {
    const torch::Tensor& tensor = unit.parameters()[parameter].tensor;
    torch::Tensor(tensor).mutable_grad() = torch::full(tensor.sizes(), value);
    unit.take_gradient(parameter);
  };
  unit.begin_backward();
  complete(0, 1);
  complete(0, 2);  // as a backward inside backward does it
  CHECK_FALSE(unit.all_gradients_taken());
  complete(1, 4);
  CHECK(unit.all_gradients_taken());
  unit.begin_reduce({});
  unit.finish_reduce();
  unit.give_gradients({true, true});
  CHECK(unit.slices()[0].grad().eq(3).all().item<bool>());
  CHECK(unit.slices()[1].grad().eq(4).all().item<bool>());
}

TEST_CASE("sharded unit: a parameter without elements is taken from a checkpoint in the shape of its slice",
          "[zero3]") {
  World alone;
  ParameterValues in_model;
  const ShardedUnit unit(alone, alone, {{"none", torch::zeros({0, 7})}, {"two", torch::zeros({3, 0})}}, {},
                         in_model);
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(unit.own_slice(torch::zeros(unit.parameters()[i].tensor.sizes()), i).sizes() ==
          unit.slices()[i].sizes());
}
