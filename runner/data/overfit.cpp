#include "runner/data/overfit.hpp"

#include "components/datasets/support/selection.hpp"

namespace runner {

namespace {

// What another split has, read as it reads it; nothing is mixed across examples, so every one has its target.
class SameExamples final : public Split {
 public:
  explicit SameExamples(const Split& split) : split_(split) {}

  std::int64_t size() const override { return split_.size(); }
  DataSpec spec() const override { return split_.spec(); }
  Batch allocate(std::int64_t examples, torch::MemoryFormat format) const override {
    return split_.allocate(examples, format);
  }
  std::optional<std::int64_t> class_of(std::int64_t index) const override { return split_.class_of(index); }
  void read(std::span<const SampleRef> samples, Batch& batch, std::int64_t first) const override {
    split_.read(samples, batch, first);
  }

 private:
  const Split& split_;  // of the same Splits, on the heap: it stays where it is
};

}  // namespace

void overfit(Splits& data, std::int64_t examples, std::uint64_t seed) {
  auto chosen = random_sample(*data.train, examples, seed);
  data.train = selection(std::move(data.train), std::move(chosen));
  data.eval = std::make_unique<SameExamples>(*data.train);
}

}  // namespace runner
