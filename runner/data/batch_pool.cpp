#include "runner/data/batch_pool.hpp"

#include <algorithm>

namespace runner {
namespace {

// A view holds the storage but not the tensor, so both counts are checked. They are read without ordering:
// only dropping a reference of our own makes what other threads did with the memory happen before its reuse.
bool unused(const torch::Tensor& tensor) {
  if (tensor.use_count() != 1 || tensor.storage().use_count() != 1) return false;
  static_cast<void>(torch::Tensor(tensor));
  static_cast<void>(c10::Storage(tensor.storage()));
  return true;
}

bool unused(const Batch& batch) {
  return unused(batch.input) && unused(batch.target) &&
         std::all_of(batch.extra.begin(), batch.extra.end(),
                     [](const auto& named) { return unused(named.second); });
}

}  // namespace

Batch BatchPool::take(std::int64_t examples) {
  const std::lock_guard lock(mutex_);
  for (const Batch& batch : batches_) {
    if (batch.size() == examples && unused(batch)) return batch;
  }
  return {};
}

void BatchPool::remember(const Batch& batch) {
  const std::lock_guard lock(mutex_);
  if (batches_.size() < most_) batches_.push_back(batch);
}

}  // namespace runner
