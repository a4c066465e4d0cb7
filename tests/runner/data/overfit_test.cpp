#include "runner/data/overfit.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;

namespace {

// The number of each example, and a mark where examples were mixed.
class Numbers : public Split {
 public:
  explicit Numbers(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  DataSpec spec() const override {
    DataSpec data;
    data.input_shape = {1};
    return data;
  }
  void read(std::span<const ExampleRef> samples, Batch& batch, std::int64_t first) const override {
    for (const ExampleRef& sample : samples) batch.input[first++].fill_(static_cast<double>(sample.index));
  }
  void finish(Batch& batch, std::uint64_t) const override { batch.input.neg_(); }

 private:
  std::int64_t size_;
};

}  // namespace

TEST_CASE("overfitting evaluates on the examples that are trained on, unmixed, over and over") {
  Splits data;
  data.train = std::make_unique<Numbers>(100);
  data.eval = std::make_unique<Numbers>(50);
  overfit(data, 6, 1);
  const Splits moved = std::move(data);
  CHECK(moved.train->size() == 100);  // epochs, schedule and evaluations stay where they were
  REQUIRE(moved.eval->size() == 6);
  const auto read = [](const Split& split, const std::vector<ExampleRef>& samples) {
    Batch batch = split.allocate(static_cast<std::int64_t>(samples.size()), torch::MemoryFormat::Contiguous);
    split.read(samples, batch, 0);
    split.finish(batch, 0);
    return batch.input;
  };
  const std::vector<ExampleRef> first{{0, 0}, {1, 0}, {5, 0}}, later{{6, 0}, {13, 0}, {95, 0}};
  CHECK(torch::equal(read(*moved.train, first), read(*moved.train, later)));
  CHECK(torch::equal(read(*moved.train, first), -read(*moved.eval, first)));  // mixed in training only
}
