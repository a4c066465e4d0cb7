#pragma once

#include <mutex>
#include <vector>

#include "components/contract/batch.hpp"

namespace runner {

// Batches whose memory is used again once it is free: without this the memory of every batch is returned to
// the system, and its pages are faulted in again.
class BatchPool {
 public:
  explicit BatchPool(std::size_t most) : most_(most) {}

  // A batch of that many examples that is no longer in use, or an empty one.
  Batch take(std::int64_t examples);
  // Remembers the batch; those who hold it can go on using it.
  void remember(const Batch& batch);

 private:
  std::mutex mutex_;
  std::vector<Batch> batches_;
  std::size_t most_;
};

}  // namespace runner
