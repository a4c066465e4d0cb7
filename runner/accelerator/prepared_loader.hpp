#pragma once

#include <torch/data/example.h>
#include <torch/data/worker_exception.h>
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

#include "components/contract/batch.hpp"
#include "components/contract/state.hpp"

namespace runner {

// The tensors of a batch; the first dimension of each is the example. To use your own batch type, define a
// function of this name in its namespace.
inline std::vector<torch::Tensor*> tensors_of(torch::Tensor& tensor) { return {&tensor}; }
inline std::vector<torch::Tensor*> tensors_of(torch::data::TensorExample& example) { return {&example.data}; }
inline std::vector<torch::Tensor*> tensors_of(torch::data::Example<>& example) {
  return {&example.data, &example.target};
}
std::vector<torch::Tensor*> tensors_of(Batch& batch);

// A pass over the data.
class LoaderPass {
 public:
  virtual ~LoaderPass() = default;
  virtual std::int64_t examples() const = 0;  // of the current batch, over all ranks, each counted once
  virtual std::int64_t rows() const = 0;      // including examples repeated to give all ranks equally many
  // Reads up to `most` batches after the current one and returns their number.
  virtual std::int64_t look_ahead(std::int64_t most) = 0;
};
using LoaderPasses = std::vector<LoaderPass*>;  // current passes, the innermost last

// This rank's share of a global batch.
template <class Item>
struct BatchPart {
  Item item;
  std::int64_t examples = 0, rows = 0;  // as in LoaderPass
};

// Which rows of a global batch a rank takes: all ranks take equally many. If the rows do not divide evenly,
// the first ones are repeated at the end.
struct RowShare {
  std::int64_t rank = 0, ranks = 1;

  std::int64_t rows_each(std::int64_t examples) const { return (examples + ranks - 1) / ranks; }
  torch::Tensor take(const torch::Tensor& all) const;
};

template <class Item>
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual void start(std::int64_t epoch, std::int64_t skip) = 0;
  virtual std::optional<BatchPart<Item>> next() = 0;
};

// While it exists, the CPU generator is seeded with seed and epoch; afterwards it continues as before.
class SeededOrder {
 public:
  SeededOrder(std::uint64_t seed, std::int64_t epoch);
  ~SeededOrder();
  SeededOrder(const SeededOrder&) = delete;
  SeededOrder& operator=(const SeededOrder&) = delete;

 private:
  State before_;
};

// Any LibTorch data loader that gives stacked batches. It cannot read only some of them, so every rank reads
// all batches and keeps its own: batch n goes to rank n % ranks. The order is a function of seed and epoch,
// and therefore the same on all ranks.
template <class Loader>
class TorchBatches final : public BatchSource<typename Loader::BatchType> {
 public:
  using Item = typename Loader::BatchType;

  TorchBatches(std::unique_ptr<Loader> loader, RowShare share, std::uint64_t seed)
      : loader_(std::move(loader)), share_(share), seed_(seed) {
    if (share_.ranks > 1 && loader_->options().workers > 0 && !loader_->options().enforce_ordering)
      throw std::invalid_argument(
          "On several ranks a loader with workers needs enforce_ordering(true): otherwise every rank has its "
          "own order of batches, and examples are lost and repeated.");
  }

  void start(std::int64_t epoch, std::int64_t skip) override {
    finish_pass();
    const SeededOrder order(seed_, epoch);
    at_.emplace(loader_->begin());
    for (std::int64_t i = 0; i < skip; ++i) next();
  }

  std::optional<BatchPart<Item>> next() override {
    std::vector<Item> group;
    auto end = loader_->end();
    for (; static_cast<std::int64_t>(group.size()) < share_.ranks && *at_ != end; ++*at_)
      group.push_back(std::move(**at_));
    if (group.empty()) return std::nullopt;
    std::vector<std::int64_t> sizes;
    for (Item& item : group) sizes.push_back(tensors_of(item).front()->size(0));
    std::int64_t examples = 0;
    for (const std::int64_t size : sizes) examples += size;
    if (examples == share_.ranks * sizes.front() && static_cast<std::int64_t>(group.size()) == share_.ranks)
      return BatchPart<Item>{std::move(group[static_cast<std::size_t>(share_.rank)]), examples, examples};
    Item joined = group.front();
    const auto targets = tensors_of(joined);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      std::vector<torch::Tensor> pieces;
      for (Item& item : group) pieces.push_back(*tensors_of(item)[i]);
      *targets[i] = share_.take(torch::cat(pieces));
    }
    return BatchPart<Item>{std::move(joined), examples, share_.rows_each(examples) * share_.ranks};
  }

 private:
  // LibTorch's workers must have delivered all batches of a pass before another one can begin, also if this
  // one was left early.
  void finish_pass() {
    if (!at_ || loader_->options().workers == 0) return;
    for (auto end = loader_->end();;) {
      try {
        if (*at_ == end) return;
        ++*at_;
      } catch (const torch::data::WorkerException&) {  // in a batch that nobody asked for
        continue;
      }
    }
  }

  std::unique_ptr<Loader> loader_;
  const RowShare share_;
  const std::uint64_t seed_;
  std::optional<decltype(std::declval<Loader&>().begin())> at_;
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
    for (const LoaderPass* other : *shared_->passes)
      if (const auto* pass = dynamic_cast<const Pass*>(other); pass && pass->shared_ == shared_)
        throw std::logic_error(
            "Another pass over this loader has not ended, and would lose its batches: end it, or prepare a "
            "second loader.");
    shared_->source->start(shared_->place.epoch, skip);
    shared_->place.position = skip;
    advance();
    if (!left_) shared_->passes->push_back(this);  // last: after an exception there is no pass
  }
  ~Pass() override { leave(); }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  bool over() const { return !current_; }
  Item& item() { return current_->item; }
  std::int64_t examples() const override { return current_->examples; }
  std::int64_t rows() const override { return current_->rows; }

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
    if (look_ahead(1) == 0) return leave();
    current_.emplace(std::move(waiting_.front()));
    waiting_.pop_front();
    if (shared_->device) {
      for (torch::Tensor* tensor : tensors_of(current_->item)) {
        if (tensor->defined()) *tensor = tensor->to(*shared_->device, /*non_blocking=*/true);
      }
    }
    ++shared_->place.position;
  }

 private:
  void leave() {
    if (left_) return;
    left_ = true;
    std::erase(*shared_->passes, this);
    ++shared_->place.epoch;
    shared_->place.position = 0;
  }

  std::shared_ptr<Shared> shared_;
  std::optional<BatchPart<Item>> current_;
  std::deque<BatchPart<Item>> waiting_;  // read ahead
  bool exhausted_ = false, left_ = false;
};

}  // namespace runner
