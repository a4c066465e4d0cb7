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

TEST_CASE("overfitting evaluates on the examples that are trained on, unmixed") {
  Splits data;
  data.train = std::make_unique<Numbers>(100);
  data.eval = std::make_unique<Numbers>(50);
  overfit(data, 6, 1);
  Splits moved = std::move(data);
  CHECK(moved.train->size() == 6);
  REQUIRE(moved.eval->size() == 6);
  Batch batch = moved.eval->allocate(1, torch::MemoryFormat::Contiguous);
  Batch trained = moved.train->allocate(1, torch::MemoryFormat::Contiguous);
  const std::vector<SampleRef> samples{{5, 0}};
  moved.eval->read(samples, batch, 0);
  moved.eval->finish(batch, 0);
  moved.train->read(samples, trained, 0);
  CHECK(batch.input.item<double>() == trained.input.item<double>());
  CHECK(batch.input.item<double>() >= 0);  // unmixed
}
