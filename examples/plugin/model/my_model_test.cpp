// Run by ctest: builds the model as a recipe would and looks at what it does.
#include <iostream>

#include "components/models/model.hpp"
#include "registry/make_part.hpp"

int main() {
  using namespace runner;
  const Registry registry = Registry::of_linked();
  DataSpec data;
  data.input_shape = {3, 4, 4};
  data.classes = 5;
  const auto model = make_part<ModelKind>(registry, "my_model", {{"width", 8}}).build({data});
  const torch::Tensor output = model->forward({torch::ones({2, 3, 4, 4}), {}});
  if (output.sizes() != torch::IntArrayRef({2, 5})) {
    std::cerr << "the output has the shape " << output.sizes() << ", not [2, 5]\n";
    return 1;
  }
  output.sum().backward();
  for (const auto& parameter : model->named_parameters()) {
    if (parameter.value().grad().defined()) continue;
    std::cerr << parameter.key() << " gets no gradient\n";
    return 1;
  }
}
