// Run by ctest: reads a few examples as the data loader does.
#include <iostream>

#include "components/datasets/dataset.hpp"
#include "registry/make_part.hpp"

int main() {
  using namespace runner;
  const Registry registry = Registry::of_linked();
  const auto dataset =
      make_part<DatasetKind>(registry, "my_dataset", {{"train", 10}, {"eval", 4}, {"noise", 0.0}}).build({});
  const Splits splits = dataset->open({});
  if (splits.train->size() != 10 || splits.eval->size() != 4) {
    std::cerr << "there are " << splits.train->size() << " and " << splits.eval->size() << " examples\n";
    return 1;
  }
  Batch batch = splits.train->allocate(2, torch::MemoryFormat::Contiguous);
  const ExampleRef examples[] = {{3, 0}, {4, 0}};
  splits.train->read(examples, batch, 0);
  if (batch.target[0].item<std::int64_t>() != 1 || batch.target[1].item<std::int64_t>() != 0) {
    std::cerr << "the labels are " << batch.target << "\n";
    return 1;
  }
}
