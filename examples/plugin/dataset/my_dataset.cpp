// A dataset of your own: points on two spirals, computed when they are asked for.
#include <cmath>
#include <numbers>

#include "components/datasets/dataset.hpp"

namespace {

using namespace runner;

struct MyDataset {
  std::int64_t train = 2000, eval = 500;
  double noise = 0.02;
};

constexpr auto describe(std::type_identity<MyDataset>) {
  return fields(field("train", &MyDataset::train, "Points to train on.", at_least(1)),
                field("eval", &MyDataset::eval, "Points to evaluate with.", at_least(1)),
                field("noise", &MyDataset::noise, "How far points lie from their spiral.", at_least(0)));
}

DataSpec spiral_spec(const MyDataset& settings) {
  DataSpec spec;
  spec.input_shape = {2};
  spec.classes = 2;
  spec.class_names = {"left", "right"};
  spec.train_examples = settings.train;
  return spec;
}

// Workers read from it at once, so it keeps nothing that changes. A point is a function of its index alone.
class Spirals final : public Split {
 public:
  Spirals(const MyDataset& settings, std::int64_t size, std::uint64_t seed)
      : settings_(settings), size_(size), seed_(seed) {}

  std::int64_t size() const override { return size_; }
  DataSpec spec() const override { return spiral_spec(settings_); }

  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    auto points = batch.input.accessor<float, 2>();
    auto labels = batch.target.accessor<std::int64_t, 1>();
    for (const ExampleRef& example : examples) {
      ExampleRandom random(example_seed(seed_, 0, static_cast<std::uint64_t>(example.index)));
      const std::int64_t label = example.index % 2;
      const double turn = random.uniform();
      const double angle = (turn * 2 + static_cast<double>(label)) * std::numbers::pi;
      points[first][0] = static_cast<float>(turn * std::cos(angle) + settings_.noise * random.normal());
      points[first][1] = static_cast<float>(turn * std::sin(angle) + settings_.noise * random.normal());
      labels[first++] = label;
    }
  }

 private:
  MyDataset settings_;
  std::int64_t size_;
  std::uint64_t seed_;
};

class MyDatasetData final : public Dataset {
 public:
  MyDatasetData(const MyDataset& settings, std::uint64_t seed) : settings_(settings), seed_(seed) {}

  DataSpec spec() const override { return spiral_spec(settings_); }
  Splits open(const TransformPipeline&) const override {
    return {std::make_unique<Spirals>(settings_, settings_.train, seed_),
            std::make_unique<Spirals>(settings_, settings_.eval, seed_ + 1)};
  }

 private:
  MyDataset settings_;
  std::uint64_t seed_;
};

std::unique_ptr<Dataset> build(const MyDataset& settings, const DatasetInputs& inputs) {
  return std::make_unique<MyDatasetData>(settings, inputs.seed);
}

const Registration<DatasetKind> registration{"my_dataset", "Points on two spirals.", &build};

}  // namespace
