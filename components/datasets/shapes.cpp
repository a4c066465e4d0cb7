#include "components/datasets/image_interpreter.hpp"
#include "components/datasets/image_split.hpp"
#include "components/datasets/shape_drawing.hpp"

namespace runner {

namespace {

struct Shapes {
  std::int64_t train = 50000;
  std::int64_t eval = 10000;
  std::uint32_t seed = 1;
};

constexpr auto describe(std::type_identity<Shapes>) {
  return fields(field("train", &Shapes::train, "Images to train on.", within(1, 1e9)),
                field("eval", &Shapes::eval, "Images to evaluate with.", within(1, 1e9)),
                field("seed", &Shapes::seed, "Seed of the images; run.seed does not change them."));
}

DataSpec shapes_spec() {
  DataSpec spec;
  spec.input_shape = {3, drawing_size, drawing_size};
  spec.classes = static_cast<std::int64_t>(shape_names.size());
  spec.class_names.assign(shape_names.begin(), shape_names.end());
  spec.images = true;
  spec.mean = {0.497, 0.497, 0.497};  // measured
  spec.deviation = {0.291, 0.291, 0.291};
  return spec;
}

// Each image is drawn when it is read, as a function of (seed, part, index), and takes no memory.
class ShapesSplit final : public ImageSplit {
 public:
  ShapesSplit(const TransformPipeline& transforms, Phase phase, std::int64_t size, std::uint64_t seed)
      : ImageSplit(shapes_spec(), transforms, phase),
        part_(phase == Phase::training ? 0 : 1),
        size_(size),
        seed_(seed) {}

  std::int64_t size() const override { return size_; }

 protected:
  ImageView image(std::int64_t index, Scratch& scratch) const override {
    scratch.decoded.resize(drawing_bytes);
    ExampleRandom random(example_seed(seed_, part_, static_cast<std::uint64_t>(index)));
    draw_shape(static_cast<int>(label(index)), random, scratch.decoded.data());
    return ImageView::planar(scratch.decoded.data(), 3, drawing_size, drawing_size);
  }
  std::int64_t label(std::int64_t index) const override {
    return index % static_cast<std::int64_t>(shape_names.size());
  }

 private:
  std::uint64_t part_;
  std::int64_t size_;
  std::uint64_t seed_;
};

class ShapesDataset final : public Dataset {
 public:
  explicit ShapesDataset(const Shapes& settings) : settings_(settings) {}

  DataSpec spec() const override {
    DataSpec spec = shapes_spec();
    spec.train_examples = settings_.train;
    return spec;
  }
  Splits open(const TransformPipeline& transforms) const override {
    return {std::make_unique<ShapesSplit>(transforms, Phase::training, settings_.train, settings_.seed),
            std::make_unique<ShapesSplit>(transforms, Phase::evaluation, settings_.eval, settings_.seed)};
  }

  std::unique_ptr<Interpreter> interpreter(const TransformPipeline& transforms,
                                           const std::string&) const override {
    return image_interpreter(spec(), transforms);
  }

 private:
  Shapes settings_;
};

DatasetFacts facts(const Shapes&) {
  return {.tasks = {Task::images, Task::reconstruction}, .image_side = 32};
}

std::unique_ptr<Dataset> build(const Shapes& settings, const DatasetInputs&) {
  return std::make_unique<ShapesDataset>(settings);
}

const Registration<DatasetKind> registration{
    "shapes", "Generated 32x32 colour images of ten shapes: needs no files.", &build};

}  // namespace

}  // namespace runner
