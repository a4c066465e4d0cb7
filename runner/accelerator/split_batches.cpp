#include "runner/accelerator/split_batches.hpp"

#include <algorithm>

namespace runner {

SplitBatches::SplitBatches(const Split& split, LoaderOptions options, RowShare share,
                           std::int64_t batches_at_once, bool drop_last)
    : split_(split),
      options_(options),
      share_(share),
      batches_at_once_(batches_at_once),
      examples_(drop_last ? split.size() / options.batch_size * options.batch_size : split.size()) {
  options_.share = {share.rank, share.ranks};
  options_.epochs = 1;  // a pass: nothing of the next one is read ahead
}

void SplitBatches::start(std::int64_t epoch, std::int64_t skip) {
  at_ = {epoch, skip * options_.batch_size};
  loader_ = at_.position < examples_ ? std::make_unique<Loader>(split_, options_, at_) : nullptr;
}

std::optional<BatchPart<Batch>> SplitBatches::next() {
  if (!loader_ || at_.position >= examples_) return std::nullopt;
  const std::int64_t examples = std::min(options_.batch_size, examples_ - at_.position);
  const Cursor begin = at_;
  at_.position += examples;
  const BatchFacts facts = share_.facts(examples);
  if (facts.rows == examples) return BatchPart<Batch>{std::move(loader_->next()->batch), facts};
  // Some rows are used twice: every rank reads all of the batch.
  LoaderOptions whole = options_;
  whole.share = {};
  whole.workers = 0;
  Batch all = Loader(split_, whole, begin).next()->batch;
  return BatchPart<Batch>{take_rows(std::move(all), share_.rows(examples)), facts};
}

std::optional<std::int64_t> SplitBatches::size() const {
  return (examples_ + options_.batch_size - 1) / options_.batch_size;
}

}  // namespace runner
