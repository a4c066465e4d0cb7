#pragma once

#include "components/datasets/dataset.hpp"
#include "runner/accelerator/prepared_loader.hpp"
#include "runner/data/loader.hpp"

namespace runner {

// Batches of a runner dataset: each rank reads only its own examples, and can start anywhere at no cost.
class SplitBatches final : public BatchSource<Batch> {
 public:
  // `options.batch_size` is the batch size of one rank.
  SplitBatches(const Split& split, LoaderOptions options, RowShare share);

  void start(std::int64_t epoch, std::int64_t skip) override;
  std::optional<BatchPart<Batch>> next() override;

 private:
  const Split& split_;
  LoaderOptions options_;
  const RowShare share_;
  std::unique_ptr<Loader> loader_;
  Cursor at_;
};

}  // namespace runner
