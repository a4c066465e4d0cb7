#pragma once

#include "components/datasets/dataset.hpp"
#include "runner/accelerator/prepared_loader.hpp"
#include "runner/data/loader.hpp"

namespace runner {

// Batches of a runner dataset: each rank reads only its own examples, and can start anywhere at no cost.
class SplitBatches final : public BatchSource<Batch> {
 public:
  // `options.batch_size` is that of all ranks. drop_last: a last batch that is not full is not given.
  SplitBatches(const Split& split, LoaderOptions options, RowShare share, std::int64_t batches_at_once,
               bool drop_last);

  void start(std::int64_t epoch, std::int64_t skip) override;
  std::optional<BatchPart<Batch>> next() override;
  std::optional<std::int64_t> size() const override;
  std::int64_t batches_at_once() const override { return batches_at_once_; }

 private:
  const Split& split_;
  LoaderOptions options_;
  const RowShare share_;
  const std::int64_t batches_at_once_, examples_;  // of a pass
  std::unique_ptr<Loader> loader_;
  Cursor at_;
};

}  // namespace runner
