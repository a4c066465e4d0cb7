#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "components/datasets/dataset.hpp"
#include "runner/data/order.hpp"

namespace runner {

// Which part of every batch a rank reads: rank r of n reads the r-th of n parts of nearly equal size.
struct BatchShare {
  std::int64_t rank = 0, ranks = 1;

  std::int64_t begin(std::int64_t examples) const { return examples * rank / ranks; }
  std::int64_t end(std::int64_t examples) const { return examples * (rank + 1) / ranks; }
};

struct LoaderOptions {
  std::int64_t batch_size = 64;  // over all ranks
  BatchShare share = {};
  // Transforms that mix the examples of a batch mix those of each of so many parts of the batch over all
  // ranks, so that the number of ranks does not matter; none: those that this rank reads.
  std::optional<std::int64_t> mixed_parts = {};
  bool shuffle = false;
  int workers = 1;   // threads; 0: the thread that calls next()
  int prefetch = 4;  // batches kept ready
  // What happens if an example cannot be read: an error; it is replaced by the next one that can be read; or
  // it is skipped, so that its batch is smaller and may be empty.
  enum class Broken { stop, replace, skip };
  Broken broken = Broken::stop;
  std::uint64_t seed = 0;
  torch::MemoryFormat format = torch::MemoryFormat::Contiguous;
  bool pinned = false;                      // in page-locked memory, for asynchronous copies to a GPU
  std::optional<std::int64_t> epochs = {};  // counted from the start cursor's epoch; none: endless
};

struct LoadedBatch {
  Batch batch;   // this rank's share, which may be empty
  Cursor begin;  // of its first example
  Cursor end;    // where the next batch begins; at the end of an epoch, the start of the next one
  std::int64_t examples = 0;                 // over all ranks
  std::vector<std::string> unreadable = {};  // why, for each example that could not be read
  bool last_of_epoch() const { return end.position == 0; }
};

// Turns a split into batches. The batches are a function of the split, the options and the cursor: the number
// of workers and their timing do not matter, and the shares of several ranks together are the batch that a
// single rank would read. The last batch of an epoch may be short.
class Loader {
 public:
  // Starts at any cursor at no cost. The split must outlive the loader.
  Loader(const Split& split, const LoaderOptions& options, Cursor start = {});
  ~Loader();

  // Returns nothing after the last epoch. Throws DataError, which names the example; if unreadable examples
  // are skipped or replaced, the first few are logged.
  std::optional<LoadedBatch> next();

  std::int64_t batches_per_epoch() const;
  std::int64_t unreadable_examples() const { return unreadable_; }  // in the batches handed out so far

 private:
  class Assembly;

  std::unique_ptr<Assembly> assembly_;
  std::int64_t unreadable_ = 0;
};

}  // namespace runner
