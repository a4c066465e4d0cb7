// Run by ctest: compares with LibTorch's own cross-entropy.
#include <iostream>

#include "components/losses/loss.hpp"
#include "registry/make_part.hpp"

int main() {
  using namespace runner;
  const Registry registry = Registry::of_linked();
  const auto loss = make_part<LossKind>(registry, "my_loss", {{"temperature", 2.0}}).build({});
  const torch::Tensor output = torch::randn({4, 3}), target = torch::tensor({0, 2, 1, 1}, torch::kInt64);
  const torch::Tensor expected = torch::cross_entropy_loss(output / 2, target, {}, /*reduction: sum*/ 2);
  const torch::Tensor found = loss->sum(output, {output, target});
  if (!torch::allclose(found, expected)) {
    std::cerr << "the loss is " << found.item<double>() << ", not " << expected.item<double>() << "\n";
    return 1;
  }
}
