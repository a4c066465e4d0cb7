// Run by ctest: two updates in one go, and with a save and a load in between.
#include <iostream>

#include "components/optimizers/optimizer.hpp"
#include "registry/make_part.hpp"

int main() {
  using namespace runner;
  const Registry registry = Registry::of_linked();
  const auto make = [&](const torch::Tensor& weight) {
    return make_part<OptimizerKind>(registry, "my_optimizer", {{"lr", 0.5}})
        .build({{ParameterGroup{.names = {"weight"}, .parameters = {weight}}}});
  };
  const auto update = [](Optimizer& optimizer, torch::Tensor& weight, float gradient) {
    weight.mutable_grad() = torch::tensor({gradient, -gradient});
    optimizer.step(1.0);
  };
  torch::Tensor whole = torch::zeros({2}), resumed = torch::zeros({2});
  const auto first = make(whole), before = make(resumed), after = make(resumed);
  update(*first, whole, 2);
  update(*first, whole, -1);  // the average keeps its sign
  update(*before, resumed, 2);
  after->load(before->save());
  update(*after, resumed, -1);
  for (const torch::Tensor& weight : {whole, resumed}) {
    if (torch::allclose(weight, torch::tensor({-1.0f, 1.0f}))) continue;
    std::cerr << "the weight became " << weight << "\n";
    return 1;
  }
}
