#pragma once

#include <mutex>
#include <vector>

#include "components/contract/batch.hpp"

namespace runner {

// Batches whose memory is used again once nobody else holds it: without this every batch is returned to the
// system and its pages are faulted in anew.
class BatchPool {
 public:
  explicit BatchPool(std::size_t most) : most_(most) {}

  // A batch of that many examples that nobody uses any more; an empty one where there is none.
  Batch take(std::int64_t examples);
  // Remembers the batch; those who hold it can go on using it.
  void remember(const Batch& batch);

 private:
  std::mutex mutex_;
  std::vector<Batch> batches_;
  std::size_t most_;
};

}  // namespace runner
