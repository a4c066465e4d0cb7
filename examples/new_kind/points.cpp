// A dataset that takes a component of the new kind: points of the plane, inside or outside of the unit
// circle.
#include "components/datasets/dataset.hpp"
#include "sampler.hpp"

namespace {

using namespace runner;

struct Points {
  std::int64_t train = 2000, eval = 500;
  Part<points::SamplerKind> sampler = "square";
};

constexpr auto describe(std::type_identity<Points>) {
  return fields(field("train", &Points::train, "Points to train on.", at_least(1)),
                field("eval", &Points::eval, "Points to evaluate with.", at_least(1)),
                field("sampler", &Points::sampler, "Where the points come from."));
}

DataSpec points_spec(const Points& settings) {
  DataSpec spec;
  spec.input_shape = {2};
  spec.classes = 2;
  spec.class_names = {"inside", "outside"};
  spec.train_examples = settings.train;
  return spec;
}

class PointsSplit final : public Split {
 public:
  PointsSplit(const Points& settings, std::int64_t size, std::uint64_t seed)
      : settings_(settings), size_(size), seed_(seed), sampler_(settings.sampler.build({})) {}

  std::int64_t size() const override { return size_; }
  DataSpec spec() const override { return points_spec(settings_); }

  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    auto inputs = batch.input.accessor<float, 2>();
    auto labels = batch.target.accessor<std::int64_t, 1>();
    for (const ExampleRef& example : examples) {
      ExampleRandom random(example_seed(seed_, 0, static_cast<std::uint64_t>(example.index)));
      const auto [x, y] = sampler_->draw(random);
      inputs[first][0] = static_cast<float>(x);
      inputs[first][1] = static_cast<float>(y);
      labels[first++] = x * x + y * y > 1 ? 1 : 0;
    }
  }

 private:
  Points settings_;
  std::int64_t size_;
  std::uint64_t seed_;
  std::unique_ptr<points::Sampler> sampler_;
};

class PointsDataset final : public Dataset {
 public:
  PointsDataset(const Points& settings, std::uint64_t seed) : settings_(settings), seed_(seed) {}

  DataSpec spec() const override { return points_spec(settings_); }
  Splits open(const TransformPipeline&) const override {
    return {std::make_unique<PointsSplit>(settings_, settings_.train, seed_),
            std::make_unique<PointsSplit>(settings_, settings_.eval, seed_ + 1)};
  }

 private:
  Points settings_;
  std::uint64_t seed_;
};

std::unique_ptr<Dataset> build(const Points& settings, const DatasetInputs& inputs) {
  return std::make_unique<PointsDataset>(settings, inputs.seed);
}

const Registration<DatasetKind> registration{"points", "Points inside or outside of the unit circle.",
                                             &build};

}  // namespace
