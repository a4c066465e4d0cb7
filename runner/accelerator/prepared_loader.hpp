#pragma once

#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "components/contract/state.hpp"
#include "runner/accelerator/batch_members.hpp"

namespace runner {

// What is known of the current batch of all ranks.
struct BatchFacts {
  std::int64_t examples = 0;  // over all ranks, each counted once
  std::int64_t own = 0;       // of this rank, without those that are counted on another
  std::int64_t rows = 0;      // over all ranks, including rows that are not counted
  Rows counted = {};          // which of the rows of all ranks are counted; empty: all of them
  double weight = 1;          // of the mean over this rank's rows, in the mean over the means of all ranks
};

// A pass over the data.
class LoaderPass {
 public:
  virtual ~LoaderPass() = default;
  virtual const BatchFacts& facts() const = 0;
  // Reads up to `most` batches after the current one and returns their number.
  virtual std::int64_t look_ahead(std::int64_t most) = 0;
};
using LoaderPasses = std::vector<LoaderPass*>;  // current passes, the innermost last

// This rank's share of a global batch.
template <class Item>
struct BatchPart {
  Item item;
  BatchFacts facts;
};

// Which rows of a global batch a rank takes. Their numbers differ by one at most, so a rank may have none:
// it then takes the first row, which is not counted. With `even` all ranks take equally many, and the first
// rows are repeated at the end.
struct RowShare {
  std::int64_t rank = 0, ranks = 1;
  bool even = false;

  Rows rows(std::int64_t examples) const;
  BatchFacts facts(std::int64_t examples) const;
};

template <class Item>
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual void start(std::int64_t epoch, std::int64_t skip) = 0;
  virtual std::optional<BatchPart<Item>> next() = 0;
  // Batches of a pass for each rank; none: unknown before the first pass has ended.
  virtual std::optional<std::int64_t> size() const { return {}; }
  // Batches that are read for one batch of every rank.
  virtual std::int64_t batches_at_once() const = 0;
};

// The position in the data that a checkpoint saves: passes done, and batches given to each rank in the
// current pass.
struct LoaderPlace final : Stateful {
  std::int64_t epoch = 0, position = 0, ranks = 1;

  State save() const override;
  // On another number of ranks, the position is where the same batches have been given. Throws StateError if
  // there is none.
  void load(const State& state) override;
};

// A loader that gives each rank its share, equally many batches for all, on the device:
//   for (auto& batch : loader) ..
// Copies are the same loader. It must not outlive its accelerator.
template <class Item>
class PreparedLoader {
 public:
  struct Shared {
    std::unique_ptr<BatchSource<Item>> source;
    LoaderPasses* passes;
    std::optional<torch::Device> device;  // none: batches stay where they are
    LoaderPlace place = {};
    LoaderPass* pass = nullptr;                // the current one
    std::optional<std::int64_t> counted = {};  // batches of a pass that has ended
  };
  explicit PreparedLoader(std::shared_ptr<Shared> shared, std::int64_t skip = 0)
      : shared_(std::move(shared)), skip_(skip) {}

  class Pass;
  struct Sentinel {};
  class Iterator {
   public:
    explicit Iterator(std::unique_ptr<Pass> pass) : pass_(std::move(pass)) {}
    Item& operator*() const { return pass_->item(); }
    Iterator& operator++() {
      pass_->advance();
      return *this;
    }
    bool operator==(Sentinel) const { return pass_->over(); }

   private:
    std::unique_ptr<Pass> pass_;
  };

  Iterator begin() const { return Iterator(std::make_unique<Pass>(shared_, skip_)); }
  Sentinel end() const { return {}; }

  std::int64_t epoch() const { return shared_->place.epoch; }        // passes that have ended, or were left
  std::int64_t position() const { return shared_->place.position; }  // batches given in the current pass

  // The batches of a pass for each rank. Of a LibTorch loader with workers or a sampler of your own it is not
  // known before the first pass has ended.
  std::optional<std::int64_t> size() const {
    const auto known = shared_->source->size();
    return known ? known : shared_->counted;
  }
  // The current batch is the last of the pass, or there is no pass. Reads one batch ahead; with
  // dispatch_batches every rank calls it.
  bool end_of_loader() const { return !shared_->pass || shared_->pass->look_ahead(1) == 0; }
  void set_epoch(std::int64_t epoch) const { shared_->place.epoch = epoch; }  // the order of the next pass

  // The same loader, but its passes skip this many batches; passes over the loader itself skip none.
  PreparedLoader after(std::int64_t batches) const { return PreparedLoader(shared_, batches); }

 private:
  std::shared_ptr<Shared> shared_;
  std::int64_t skip_;
};

template <class Item>
class PreparedLoader<Item>::Pass final : public LoaderPass {
 public:
  Pass(std::shared_ptr<Shared> shared, std::int64_t skip) : shared_(std::move(shared)) {
    if (skip < 0) throw std::invalid_argument("A pass cannot skip " + std::to_string(skip) + " batches.");
    if (shared_->pass)
      throw std::logic_error(
          "Another pass over this loader has not ended, and would lose its batches: end it, or prepare a "
          "second loader.");
    shared_->source->start(shared_->place.epoch, skip);
    shared_->place.position = skip;
    advance();
    if (left_) return;
    shared_->passes->push_back(this);  // last: after an exception there is no pass
    shared_->pass = this;
  }
  ~Pass() override { leave(); }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  bool over() const { return !current_; }
  Item& item() { return current_->item; }
  const BatchFacts& facts() const override { return current_->facts; }

  std::int64_t look_ahead(std::int64_t most) override {
    while (!exhausted_ && static_cast<std::int64_t>(waiting_.size()) < most) {
      auto next = shared_->source->next();
      exhausted_ = !next;
      if (next) waiting_.push_back(std::move(*next));
    }
    return std::min(most, static_cast<std::int64_t>(waiting_.size()));
  }

  void advance() {
    current_.reset();
    if (look_ahead(1) == 0) {
      if (!left_) shared_->counted = shared_->place.position;
      return leave();
    }
    current_.emplace(std::move(waiting_.front()));
    waiting_.pop_front();
    if (shared_->device)
      for_each_tensor(current_->item, [&](torch::Tensor& tensor) {
        tensor = tensor.to(*shared_->device, /*non_blocking=*/true);
      });
    ++shared_->place.position;
  }

 private:
  void leave() {
    if (left_) return;
    left_ = true;
    std::erase(*shared_->passes, this);
    if (shared_->pass == this) shared_->pass = nullptr;
    ++shared_->place.epoch;
    shared_->place.position = 0;
  }

  std::shared_ptr<Shared> shared_;
  std::optional<BatchPart<Item>> current_;
  std::deque<BatchPart<Item>> waiting_;  // read ahead
  bool exhausted_ = false, left_ = false;
};

}  // namespace runner
