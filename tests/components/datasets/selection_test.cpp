#include "components/datasets/selection.hpp"

#include <catch2/catch_all.hpp>
#include <map>
#include <set>

namespace runner {
namespace {

// Ordered by class, as files often are: 60 of class 0, 30 of class 1, 9 of class 2, 1 of class 3.
class Ordered : public Split {
 public:
  explicit Ordered(bool classes = true) : classes_(classes) {}
  std::int64_t size() const override { return 100; }
  DataSpec spec() const override { return {.input_shape = {1}, .classes = 4}; }
  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    for (const ExampleRef& example : examples) batch.input[first++].fill_(static_cast<double>(example.index));
  }
  void finish(Batch& batch, std::uint64_t) const override { batch.input.neg_(); }
  std::optional<std::int64_t> class_of(std::int64_t index) const override {
    if (!classes_) return std::nullopt;
    return index < 60 ? 0 : index < 90 ? 1 : index < 99 ? 2 : 3;
  }

 private:
  bool classes_;
};

std::map<std::int64_t, int> counted(const Split& split, const std::vector<std::int64_t>& indices) {
  std::map<std::int64_t, int> counts;
  for (const std::int64_t index : indices) ++counts[*split.class_of(index)];
  return counts;
}

TEST_CASE("a sample has the same share of each class, and at least one of each where there is room") {
  const Ordered split;
  const auto sample = random_sample(split, 20, 1);
  CHECK(std::set(sample.begin(), sample.end()).size() == 20);
  CHECK(counted(split, sample) == std::map<std::int64_t, int>{{0, 12}, {1, 6}, {2, 1}, {3, 1}});
  CHECK(counted(split, random_sample(split, 4, 1)) ==
        std::map<std::int64_t, int>{{0, 1}, {1, 1}, {2, 1}, {3, 1}});
  CHECK(random_sample(split, 2, 1).size() == 2);
  CHECK(random_sample(split, 100, 1).size() == 100);
  CHECK(random_sample(split, 1000, 1).size() == 100);
  CHECK(random_sample(split, -7, 1).empty());
  for (std::int64_t count = 1; count <= 100; ++count)
    CHECK(std::ssize(random_sample(split, count, 3)) == count);
}

TEST_CASE("a choice leaves so many of each class") {
  const Ordered split;
  CHECK(counted(split, random_sample(split, 20, 1, 1)) ==
        std::map<std::int64_t, int>{{0, 12}, {1, 6}, {2, 2}});
  CHECK(counted(split, random_sample(split, 100, 1, 1)) ==
        std::map<std::int64_t, int>{{0, 59}, {1, 29}, {2, 8}});
  CHECK(random_sample(split, 100, 1, 60).empty());
  CHECK(random_sample(split, 20, 1, 1) == random_sample(split, 20, 1, 1));
}

TEST_CASE("the seed chooses the sample, which is in no order of classes") {
  const Ordered split;
  CHECK(random_sample(split, 20, 1) == random_sample(split, 20, 1));
  CHECK(random_sample(split, 20, 1) != random_sample(split, 20, 2));
  const auto sample = random_sample(split, 50, 1);
  CHECK_FALSE(std::ranges::is_sorted(sample));
  CHECK(counted(split, {sample.begin(), sample.begin() + 25}).size() > 1);
  // Without classes: all over the set, too.
  const auto plain = random_sample(Ordered(false), 50, 1);
  CHECK(std::ranges::max(plain) > 80);
  CHECK(std::ranges::min(plain) < 20);
}

TEST_CASE("a selection reads what it names") {
  const auto some = selection(std::make_shared<Ordered>(), {99, 5, 60});
  CHECK(some->size() == 3);
  CHECK(some->class_of(0) == 3);
  CHECK(some->class_of(1) == 0);
  Batch batch = some->allocate(2, torch::MemoryFormat::Contiguous);
  const std::vector<ExampleRef> examples{{2, 0}, {1, 0}};
  some->read(examples, batch, 0);
  some->finish(batch, 0);
  CHECK(torch::equal(batch.input, torch::tensor({{-60.0F}, {-5.0F}})));
}

TEST_CASE("a selection from random places has the same examples in every epoch") {
  class Places : public Ordered {
   public:
    bool examples_are_fixed() const override { return false; }
    void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
      for (const ExampleRef& example : examples)
        batch.input[first++].fill_(static_cast<double>(example.seed % 1000));
    }
  };
  const auto some = selection(std::make_shared<Places>(), {99, 5, 60});
  CHECK(some->examples_are_fixed());
  const auto read = [&](std::vector<ExampleRef> examples) {
    Batch batch = some->allocate(2, torch::MemoryFormat::Contiguous);
    some->read(examples, batch, 0);
    return batch.input;
  };
  CHECK(torch::equal(read({{0, 1}, {1, 2}}), read({{0, 3}, {1, 4}})));
  CHECK_FALSE(torch::equal(read({{0, 1}, {1, 2}}), read({{2, 1}, {1, 2}})));
}

TEST_CASE("class counts are those of the split, or none") {
  CHECK(class_counts(Ordered(), 4) == std::vector<std::int64_t>{60, 30, 9, 1});
  CHECK(class_counts(Ordered(false), 4).empty());
  CHECK(class_counts(*selection(std::make_shared<Ordered>(), {0, 99}), 4) ==
        std::vector<std::int64_t>{1, 0, 0, 1});
}

}  // namespace
}  // namespace runner
