#include "runner/data/loader.hpp"

#include <algorithm>
#include <limits>

#include "components/contract/example_random.hpp"
#include "registry/base/arithmetic.hpp"
#include "registry/base/log.hpp"
#include "registry/files/mapping_guard.hpp"
#include "runner/data/batch_pool.hpp"
#include "runner/data/compute_threads.hpp"
#include "runner/data/ordered_prefetch.hpp"
#include "runner/engine/runtime/batch_part.hpp"

namespace runner {
namespace {

constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t most_messages = 5;

Cursor checked(Cursor start, std::int64_t size) {
  if (size <= 0) throw DataError("The dataset has no examples.");
  if (start.epoch < 0 || start.position < 0 || start.position > size) {
    throw DataError(log::format("Example {} of epoch {} does not exist: the dataset has {} examples.",
                                start.position, start.epoch, size));
  }
  return start.position == size ? Cursor{start.epoch + 1, 0} : start;
}

Batch pinned(Batch batch) {
  const auto pin = [](torch::Tensor& tensor) {
    if (tensor.defined() && !tensor.is_pinned()) tensor = tensor.pin_memory();
  };
  pin(batch.input);
  pin(batch.target);
  for (auto& [name, tensor] : batch.extra) pin(tensor);
  return batch;
}

// The tensor that the parts were cut from, if they were changed in place.
torch::Tensor joined(const torch::Tensor& whole, const std::vector<torch::Tensor>& parts) {
  const auto in_place = [&](const torch::Tensor& part) { return !part.defined() || part.is_alias_of(whole); };
  return std::ranges::all_of(parts, in_place) ? whole : torch::cat(parts);
}

Batch joined(const Batch& whole, const std::vector<Batch>& parts) {
  const auto field = [&](const auto& of) {
    std::vector<torch::Tensor> tensors;
    for (const Batch& part : parts) tensors.push_back(of(part));
    return joined(of(whole), tensors);
  };
  Batch all{field([](const Batch& batch) { return batch.input; }),
            field([](const Batch& batch) { return batch.target; })};
  for (const auto& [name, tensor] : whole.extra)
    all.extra[name] = field([&](const Batch& batch) { return batch.extra.at(name); });
  return all;
}

}  // namespace

// Assembles batches, on worker threads if there are any.
class Loader::Assembly {
 public:
  Assembly(const Split& split, const LoaderOptions& options, Cursor start)
      : split_(split),
        options_(options),
        size_(split.size()),
        start_(checked(start, size_)),
        pool_(static_cast<std::size_t>(std::max(options.prefetch, options.workers)) + 4),
        batches_([this](std::int64_t number) { return assemble(number); }, count(), options.workers,
                 options.prefetch) {}

  std::optional<LoadedBatch> next() { return batches_.next(); }
  const LoaderOptions& options() const { return options_; }
  std::int64_t batches_per_epoch() const { return divide_up(size_, options_.batch_size); }

 private:
  std::int64_t batches_of_first_epoch() const {
    return divide_up(size_ - start_.position, options_.batch_size);
  }
  std::int64_t count() const {
    if (!options_.epochs) return endless;
    return *options_.epochs == 0 ? 0
                                 : batches_of_first_epoch() + (*options_.epochs - 1) * batches_per_epoch();
  }

  Cursor begin_of(std::int64_t number) const {
    if (number < batches_of_first_epoch())
      return {start_.epoch, start_.position + number * options_.batch_size};
    const std::int64_t later = number - batches_of_first_epoch();
    return {start_.epoch + 1 + later / batches_per_epoch(),
            later % batches_per_epoch() * options_.batch_size};
  }

  ExampleRef reference(const EpochOrder& order, Cursor at) const {
    const std::int64_t index = order(at.position);
    return {index, example_seed(options_.seed, static_cast<std::uint64_t>(at.epoch),
                                static_cast<std::uint64_t>(index))};
  }

  LoadedBatch assemble(std::int64_t number) {
    const Cursor begin = begin_of(number);
    const std::int64_t all = std::min(options_.batch_size, size_ - begin.position);
    const bool last = begin.position + all == size_;
    const std::int64_t first = begin.position + options_.share.begin(all);
    const std::int64_t examples = options_.share.end(all) - options_.share.begin(all);
    LoadedBatch loaded{memory(examples), begin,
                       last ? Cursor{begin.epoch + 1, 0} : Cursor{begin.epoch, begin.position + all}, all};
    if (examples == 0) return loaded;

    const EpochOrder order(size_, options_.shuffle, options_.seed, begin.epoch);
    std::vector<ExampleRef> references(static_cast<std::size_t>(examples));
    for (std::int64_t i = 0; i < examples; ++i) {
      references[static_cast<std::size_t>(i)] = reference(order, {begin.epoch, first + i});
    }
    try {
      read_all(references, loaded.batch);
    } catch (const std::exception&) {
      read_each(order, references, first, loaded);
    }
    require_whole_files();
    if (loaded.batch.size() == 0) return loaded;  // none could be read: nothing to mix

    if (options_.mixed_parts) {
      finish_parts(loaded);
    } else {
      split_.finish(loaded.batch, seed_of_batch({begin.epoch, first}));
    }
    if (options_.pinned) loaded.batch = pinned(std::move(loaded.batch));
    return loaded;
  }

  std::uint64_t seed_of_batch(Cursor first) const {
    constexpr std::uint64_t of_batches =
        0x6261746368ULL;  // keeps the seeds of batches apart from those of examples
    return example_seed(options_.seed ^ of_batches, static_cast<std::uint64_t>(first.epoch),
                        static_cast<std::uint64_t>(first.position));
  }

  // This rank has read whole parts of the batch.
  void finish_parts(LoadedBatch& loaded) const {
    const std::int64_t parts = *options_.mixed_parts, all = loaded.examples;
    const std::int64_t own = options_.share.begin(all);
    std::vector<Batch> finished;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t begin = all * part / parts - own, end = all * (part + 1) / parts - own;
      if (begin < 0 || end > loaded.batch.size() || begin == end) continue;
      finished.push_back(part_of(loaded.batch, begin, end - begin));
      split_.finish(finished.back(),
                    seed_of_batch({loaded.begin.epoch, loaded.begin.position + own + begin}));
    }
    loaded.batch = joined(loaded.batch, finished);
  }

  Batch memory(std::int64_t examples) {
    // Not with pinned memory: a copy to the device may still be running when the last reference is dropped,
    // which only LibTorch's allocator of pinned memory knows.
    if (options_.pinned) return split_.allocate(examples, options_.format);
    Batch batch = pool_.take(examples);
    if (!batch.input.defined()) {
      batch = split_.allocate(examples, options_.format);
      pool_.remember(batch);
    }
    return batch;
  }

  void read_all(std::span<const ExampleRef> references, Batch& batch) const {
    if (options_.workers > 0) return split_.read(references, batch, 0);
    constexpr std::int64_t worth_a_thread = 4;
    on_compute_threads(static_cast<std::int64_t>(references.size()), worth_a_thread,
                       [&](std::int64_t begin, std::int64_t end) {
                         split_.read(references.subspan(static_cast<std::size_t>(begin),
                                                        static_cast<std::size_t>(end - begin)),
                                     batch, begin);
                       });
  }

  // Reads examples one by one after a batch has failed, to find those that cannot be read.
  void read_each(const EpochOrder& order, const std::vector<ExampleRef>& references, std::int64_t first,
                 LoadedBatch& loaded) const {
    using Broken = LoaderOptions::Broken;
    std::int64_t example = 0;
    for (std::size_t i = 0; i < references.size(); ++i) {
      const Cursor at{loaded.begin.epoch, first + static_cast<std::int64_t>(i)};
      try {
        split_.read({&references[i], 1}, loaded.batch, example++);
      } catch (const std::exception& error) {
        const std::string message =
            log::format("Cannot read example {}: {}", references[i].index, error.what());
        const bool broken = dynamic_cast<const DataError*>(&error) != nullptr;
        if (!broken) throw DataError(message);
        if (options_.broken == Broken::stop)
          throw DataError(message + " Set loader.on_error = \"skip\" to skip such examples.");
        if (options_.broken == Broken::replace) read_substitute(order, at, loaded.batch, example - 1);
        if (options_.broken == Broken::skip) --example;
        loaded.unreadable.push_back(message);
      }
    }
    loaded.batch = part_of(loaded.batch, 0, example);
  }

  void read_substitute(const EpochOrder& order, Cursor at, Batch& batch, std::int64_t example) const {
    for (std::int64_t tried = 1; tried < size_; ++tried) {
      const ExampleRef next = reference(order, {at.epoch, (at.position + tried) % size_});
      try {
        return split_.read({&next, 1}, batch, example);
      } catch (const DataError&) {
        continue;
      }
    }
    throw DataError(log::format("None of the {} examples can be read.", size_));
  }

  const Split& split_;
  const LoaderOptions options_;
  const std::int64_t size_;
  const Cursor start_;
  BatchPool pool_;
  OrderedPrefetch<LoadedBatch> batches_;  // last: its threads use everything above
};

Loader::Loader(const Split& split, const LoaderOptions& options, Cursor start)
    : assembly_(std::make_unique<Assembly>(split, options, start)) {}

Loader::~Loader() = default;

std::optional<LoadedBatch> Loader::next() {
  std::optional<LoadedBatch> loaded = assembly_->next();
  if (!loaded) return loaded;
  for (const std::string& message : loaded->unreadable) {
    const bool skipped = assembly_->options().broken == LoaderOptions::Broken::skip;
    if (unreadable_++ < most_messages)
      log::warning("{} {}", message, skipped ? "It is skipped." : "Another one takes its place.");
    if (unreadable_ == most_messages) log::warning("Further examples that cannot be read are only counted.");
  }
  return loaded;
}

std::int64_t Loader::batches_per_epoch() const { return assembly_->batches_per_epoch(); }

}  // namespace runner
