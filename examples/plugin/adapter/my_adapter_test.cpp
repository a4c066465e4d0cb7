// Run by ctest: the merged weight gives the outputs of the layer with the adapter.
#include <torch/utils.h>

#include <iostream>

#include "components/adapters/adapter.hpp"
#include "registry/make_part.hpp"

int main() {
  using namespace runner;
  const Registry registry = Registry::of_linked();
  const auto adapter = make_part<AdapterKind>(registry, "my_adapter", {{"start", 2.0}}).build({});
  Linear layer(LinearOptions{.in = 3, .out = 4});
  const torch::NoGradGuard no_grad;
  const torch::Tensor x = torch::randn({5, 3});
  layer->adapt(adapter->sit_in(*layer, "fc"));
  const torch::Tensor found = layer->forward(x), expected = torch::linear(x, 2 * layer->weight, layer->bias);
  const torch::Tensor merged = torch::linear(x, layer->adapter()->merged(*layer), layer->bias);
  if (!torch::allclose(found, expected) || !torch::allclose(merged, expected)) {
    std::cerr << "the outputs are not those of twice the weight\n";
    return 1;
  }
}
