#include "components/datasets/read/read_all.hpp"

namespace runner {

Batch read_all(const Split& split) {
  Batch batch = split.allocate(split.size(), torch::MemoryFormat::Contiguous);
  std::vector<ExampleRef> all(static_cast<std::size_t>(split.size()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i].index = static_cast<std::int64_t>(i);
  split.read(all, batch, 0);
  split.finish(batch, 0);
  batch.target.reset();
  return batch;
}

}  // namespace runner
