#include "runner/accelerator/split_batches.hpp"

#include <algorithm>

namespace runner {

SplitBatches::SplitBatches(const Split& split, LoaderOptions options, RowShare share)
    : split_(split), options_(options), share_(share) {
  options_.batch_size *= share.ranks;
  options_.share = {share.rank, share.ranks};
  options_.epochs = 1;  // a pass: nothing of the next one is read ahead
}

void SplitBatches::start(std::int64_t epoch, std::int64_t skip) {
  at_ = {epoch, skip * options_.batch_size};
  loader_ = at_.position < split_.size() ? std::make_unique<Loader>(split_, options_, at_) : nullptr;
}

std::optional<BatchPart<Batch>> SplitBatches::next() {
  if (!loader_ || at_.position >= split_.size()) return std::nullopt;
  const std::int64_t examples = std::min(options_.batch_size, split_.size() - at_.position);
  const Cursor begin = at_;
  at_.position += examples;
  if (examples % share_.ranks == 0)
    return BatchPart<Batch>{std::move(loader_->next()->batch), examples, examples};
  // The last batch does not divide evenly: every rank reads all of it, and some rows are used twice.
  LoaderOptions whole = options_;
  whole.share = {};
  whole.workers = 0;
  Batch all = Loader(split_, whole, begin).next()->batch;
  for (torch::Tensor* tensor : tensors_of(all)) *tensor = share_.take(*tensor);
  return BatchPart<Batch>{std::move(all), examples, share_.rows_each(examples) * share_.ranks};
}

}  // namespace runner
