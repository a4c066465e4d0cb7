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
  void read(std::span<const SampleRef> samples, Batch& batch, std::int64_t first) const override {
    for (const SampleRef& sample : samples) batch.input[first++].fill_(static_cast<double>(sample.index));
  }
  void finish(Batch& batch, std::uint64_t) const override { batch.input.neg_(); }

 private:
  std::int64_t size_;
};

}  // namespace

TEST_CASE("limited: the first examples of a split, or all it has") {
  CHECK(limited(std::make_unique<Numbers>(10), 4)->size() == 4);
  CHECK(limited(std::make_unique<Numbers>(10), 40)->size() == 10);
  CHECK(limited(std::make_unique<Numbers>(10), std::nullopt)->size() == 10);
  const auto some = limited(std::make_unique<Numbers>(10), 4);
  Batch batch = some->allocate(2, torch::MemoryFormat::Contiguous);
  const std::vector<SampleRef> samples{{3, 0}, {1, 0}};
  some->read(samples, batch, 0);
  some->finish(batch, 0);
  CHECK(torch::equal(batch.input, torch::tensor({{-3.0F}, {-1.0F}})));
}

TEST_CASE("overfitting evaluates on the examples that are trained on, unmixed") {
  Splits data;
  data.train = std::make_unique<Numbers>(100);
  data.eval = std::make_unique<Numbers>(50);
  overfit(data, 6);
  Splits moved = std::move(data);
  CHECK(moved.train->size() == 6);
  REQUIRE(moved.eval->size() == 6);
  Batch batch = moved.eval->allocate(1, torch::MemoryFormat::Contiguous);
  const std::vector<SampleRef> samples{{5, 0}};
  moved.eval->read(samples, batch, 0);
  moved.eval->finish(batch, 0);
  CHECK(batch.input.item<double>() == 5);
}
