#pragma once

#include <torch/data/dataloader.h>
#include <torch/data/samplers/random.h>
#include <torch/data/samplers/sequential.h>
#include <torch/data/worker_exception.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runner/accelerator/objects.hpp"
#include "runner/accelerator/prepared_loader.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// How the batches of a loader are given to several ranks.
struct LoaderSettings {
  // A batch of the loader is divided among the ranks; otherwise each rank gets a batch of its size.
  bool split_batches = false;
  // Only rank 0 reads and sends the others their share: for sources that cannot be read by every rank.
  bool dispatch_batches = false;
  // Every rank gets as many examples also of the last batch, some of them twice, and in training they count
  // twice. Otherwise every example counts once, and a rank may get one fewer than another.
  bool even_batches = false;
};

// Whole batches, in an order that is a function of the epoch.
template <class Item>
class BatchReader {
 public:
  virtual ~BatchReader() = default;
  virtual void start(std::int64_t epoch) = 0;
  virtual std::optional<Item> next() = 0;
  virtual std::optional<std::int64_t> size() const { return {}; }  // in batches, if it is known
  virtual bool drops_last() const { return false; }                // a batch that is not full
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

// Any LibTorch data loader.
template <class Loader>
class TorchReader final : public BatchReader<typename Loader::BatchType> {
 public:
  using Item = typename Loader::BatchType;

  TorchReader(std::unique_ptr<Loader> loader, std::uint64_t seed, bool every_rank_reads)
      : loader_(std::move(loader)), seed_(seed) {
    if (every_rank_reads && loader_->options().workers > 0 && !loader_->options().enforce_ordering)
      throw std::invalid_argument(
          "On several ranks a loader with workers needs enforce_ordering(true): otherwise every rank has its "
          "own order of batches, and examples are lost and repeated.");
  }

  void start(std::int64_t epoch) override {
    finish_pass();
    const SeededOrder order(seed_, epoch);
    at_.emplace(loader_->begin());
  }

  std::optional<Item> next() override {
    if (auto end = loader_->end(); *at_ == end) return std::nullopt;
    Item batch = std::move(**at_);
    ++*at_;
    return batch;
  }

  std::optional<std::int64_t> size() const override {
    const auto examples = examples_of(*loader_);
    const auto each = static_cast<std::int64_t>(loader_->options().batch_size);
    if (!examples) return std::nullopt;
    return drops_last() ? *examples / each : (*examples + each - 1) / each;
  }
  bool drops_last() const override { return loader_->options().drop_last; }

 private:
  // Of LibTorch's own samplers, which give every example of the dataset once.
  template <class Dataset, class Sampler>
  static std::optional<std::int64_t> examples_of(
      const torch::data::StatelessDataLoader<Dataset, Sampler>& loader) {
    using Base =
        torch::data::DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType>;
    struct Opened : Base {  // the dataset is a protected member; without one the workers have it
      static const Dataset* dataset(const Base& base) {
        return (base.*(&Opened::main_thread_dataset_)).get();
      }
    };
    if constexpr (std::is_same_v<Sampler, torch::data::samplers::RandomSampler> ||
                  std::is_same_v<Sampler, torch::data::samplers::SequentialSampler>) {
      const Dataset* dataset = Opened::dataset(loader);
      if (const auto size = dataset ? dataset->size() : std::nullopt) return static_cast<std::int64_t>(*size);
    }
    return std::nullopt;
  }
  template <class Other>
  static std::optional<std::int64_t> examples_of(const Other&) {
    return std::nullopt;
  }

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
  const std::uint64_t seed_;
  std::optional<decltype(std::declval<Loader&>().begin())> at_;
};

// A function that begins a pass, for its number, and returns one that gives the next batch or nothing.
template <class Item>
using MakePass = std::function<std::function<std::optional<Item>()>(std::int64_t epoch)>;

template <class Item>
class FunctionReader final : public BatchReader<Item> {
 public:
  explicit FunctionReader(MakePass<Item> make_pass) : make_pass_(std::move(make_pass)) {}
  void start(std::int64_t epoch) override { next_ = make_pass_(epoch); }
  std::optional<Item> next() override { return next_(); }

 private:
  MakePass<Item> make_pass_;
  std::function<std::optional<Item>()> next_;
};

// Gives each rank its share of what a reader reads. Batches cannot be read in part, so every rank reads all
// of them and keeps its own, unless only rank 0 reads.
template <class Item>
class SharedBatches final : public BatchSource<Item> {
 public:
  SharedBatches(std::unique_ptr<BatchReader<Item>> reader, World& world, const LoaderSettings& settings)
      : reader_(std::move(reader)),
        world_(world),
        share_{world.rank(), world.size(), settings.even_batches},
        at_once_(settings.split_batches ? 1 : world.size()),
        dispatch_(settings.dispatch_batches && !world.alone()) {
    if (dispatch_ && !Sendable<Item>)
      throw std::invalid_argument(
          "dispatch_batches needs batches that can be sent to other ranks: of tensors, texts and numbers, "
          "and "
          "of vectors and maps of them.");
  }

  void start(std::int64_t epoch, std::int64_t skip) override {
    if (!reads()) return;
    reader_->start(epoch);
    for (std::int64_t i = 0; i < skip; ++i) read();
  }

  std::optional<BatchPart<Item>> next() override {
    if (dispatch_) return part_of(received());
    std::vector<Item> group = read();
    if (group.empty()) return std::nullopt;
    std::int64_t examples = 0;
    for (const Item& item : group) examples += rows_of(item);
    const auto count = static_cast<std::int64_t>(group.size());
    if (count == share_.ranks && examples == count * rows_of(group.front()))
      return BatchPart<Item>{std::move(group[static_cast<std::size_t>(share_.rank)]), share_.facts(examples)};
    return part_of(joined_rows(std::move(group)));
  }

  std::optional<std::int64_t> size() const override {
    const auto batches = reader_->size();
    if (!batches) return std::nullopt;
    return reader_->drops_last() ? *batches / at_once_ : (*batches + at_once_ - 1) / at_once_;
  }
  std::int64_t batches_at_once() const override { return at_once_; }

 private:
  struct Sent {
    std::string problem = {};
    std::optional<Item> batch = {};
  };

  bool reads() const { return !dispatch_ || world_.is_main(); }

  // The batches for all ranks; none at the end of the pass.
  std::vector<Item> read() {
    std::vector<Item> group;
    while (static_cast<std::int64_t>(group.size()) < at_once_) {
      auto batch = reader_->next();
      if (!batch) break;
      group.push_back(*std::move(batch));
    }
    if (reader_->drops_last() && static_cast<std::int64_t>(group.size()) < at_once_) group.clear();
    return group;
  }

  std::optional<BatchPart<Item>> part_of(std::optional<Item> all) const {
    if (!all) return std::nullopt;
    const std::int64_t examples = rows_of(*all);
    return BatchPart<Item>{take_rows(*std::move(all), share_.rows(examples)), share_.facts(examples)};
  }

  // What rank 0 has read. If it cannot read, every rank throws.
  std::optional<Item> received() {
    if constexpr (Sendable<Item>) {
      constexpr auto what = "a batch";
      if (!world_.is_main()) {
        Sent sent = from_bytes<Sent>(world_.broadcast_text("", 0, what), what, 0);
        if (!sent.problem.empty()) throw RankError("Rank 0 cannot read a batch: " + sent.problem);
        return std::move(sent.batch);
      }
      Sent sent;
      try {
        if (std::vector<Item> group = read(); !group.empty()) sent.batch = joined_rows(std::move(group));
      } catch (const std::exception& error) {
        sent.problem = error.what();
        world_.broadcast_text(to_bytes(sent), 0, what);
        throw;
      }
      world_.broadcast_text(to_bytes(sent), 0, what);
      return std::move(sent.batch);
    } else {
      return std::nullopt;
    }
  }

  std::unique_ptr<BatchReader<Item>> reader_;
  World& world_;
  const RowShare share_;
  const std::int64_t at_once_;
  const bool dispatch_;
};

}  // namespace runner
