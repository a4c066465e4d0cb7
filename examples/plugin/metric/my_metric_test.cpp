// Run by ctest: one batch, and the same in two parts that are merged.
#include <cmath>
#include <iostream>

#include "components/metrics/metric.hpp"
#include "registry/make_part.hpp"

int main() {
  using namespace runner;
  const Registry registry = Registry::of_linked();
  const auto make = [&] {
    return make_part<MetricKind>(registry, "my_metric", {{"probability", 0.75}}).build({});
  };
  // The right class gets 0.8, 0.7 and 0.2.
  const torch::Tensor output = torch::tensor({0.8, 0.2, 0.3, 0.7, 0.8, 0.2}).view({3, 2}).log();
  const torch::Tensor target = torch::tensor({0, 1, 1}, torch::kInt64);
  const auto whole = make(), first = make(), second = make();
  whole->update(output, {output, target});
  first->update(output.narrow(0, 0, 1), {output.narrow(0, 0, 1), target.narrow(0, 0, 1)});
  second->update(output.narrow(0, 1, 2), {output.narrow(0, 1, 2), target.narrow(0, 1, 2)});
  first->merge(second->accumulated());
  for (const auto& metric : {whole.get(), first.get()}) {
    const double share = metric->compute().front().second;
    if (std::abs(share - 1.0 / 3) < 1e-12) continue;
    std::cerr << "the share is " << share << ", not 1/3\n";
    return 1;
  }
}
