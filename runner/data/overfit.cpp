#include "runner/data/overfit.hpp"

#include "components/datasets/selection.hpp"

namespace runner {

namespace {

// The examples of another split, without finish(), which may mix examples: each keeps its own target.
class SameExamples final : public Split {
 public:
  explicit SameExamples(const Split& split) : split_(split) {}

  std::int64_t size() const override { return split_.size(); }
  DataSpec spec() const override { return split_.spec(); }
  Batch allocate(std::int64_t examples, torch::MemoryFormat format) const override {
    return split_.allocate(examples, format);
  }
  std::optional<std::int64_t> class_of(std::int64_t index) const override { return split_.class_of(index); }
  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    split_.read(examples, batch, first);
  }

 private:
  const Split& split_;  // belongs to the same Splits; its address is stable
};

// Repeats a few examples until there are as many as in the whole training set, so epochs keep their length.
class Repeated final : public Split {
 public:
  Repeated(std::unique_ptr<Split> few, std::int64_t size) : few_(std::move(few)), size_(size) {}

  const Split& few() const { return *few_; }
  std::int64_t size() const override { return size_; }
  DataSpec spec() const override { return few_->spec(); }
  std::optional<std::int64_t> class_of(std::int64_t index) const override {
    return few_->class_of(index % few_->size());
  }
  Batch allocate(std::int64_t examples, torch::MemoryFormat format) const override {
    return few_->allocate(examples, format);
  }
  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    std::vector<ExampleRef> among_few(examples.begin(), examples.end());
    for (ExampleRef& example : among_few) example.index %= few_->size();
    few_->read(among_few, batch, first);
  }
  void finish(Batch& batch, std::uint64_t seed) const override { few_->finish(batch, seed); }

 private:
  std::unique_ptr<Split> few_;
  std::int64_t size_;
};

}  // namespace

void overfit(Splits& data, std::int64_t examples, std::uint64_t seed) {
  const std::int64_t size = data.train->size();
  auto chosen = random_sample(*data.train, examples, seed);
  auto repeated = std::make_unique<Repeated>(selection(std::move(data.train), std::move(chosen)), size);
  data.eval = std::make_unique<SameExamples>(repeated->few());
  data.train = std::move(repeated);
}

}  // namespace runner
