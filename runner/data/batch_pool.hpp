#pragma once

#include <mutex>
#include <vector>

#include "components/contract/batch.hpp"

namespace runner {

// Batches whose memory is reused once it is free: without this the memory of every batch would be returned to
// the system, and its pages would be faulted in again.
class BatchPool {
 public:
  explicit BatchPool(std::size_t most) : most_(most) {}

  // A batch of that many examples that is no longer in use, or an empty one.
  Batch take(std::int64_t examples);
  // Adds a batch, which is reused only when nobody else holds it any more.
  void remember(const Batch& batch);

 private:
  std::mutex mutex_;
  std::vector<Batch> batches_;
  std::size_t most_;
};

}  // namespace runner
