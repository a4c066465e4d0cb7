// Run by ctest: scaling and unscaling give the gradient back, and what is not finite is noticed.
#include <iostream>
#include <limits>

#include "components/precisions/precision.hpp"
#include "registry/make_part.hpp"

int main() {
  using namespace runner;
  const Registry registry = Registry::of_linked();
  const auto precision = make_part<PrecisionKind>(registry, "my_precision", {{"scale", 8.0}}).build({});
  const torch::Tensor gradient = precision->scale(torch::ones({2}));
  if (!precision->unscale({gradient}) || !torch::equal(gradient, torch::ones({2}))) {
    std::cerr << "the gradient became " << gradient << "\n";
    return 1;
  }
  if (precision->unscale({torch::full({2}, std::numeric_limits<float>::infinity())})) {
    std::cerr << "it did not notice an infinite gradient\n";
    return 1;
  }
}
