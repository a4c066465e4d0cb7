#include <cstring>

#include "components/datasets/image_split.hpp"

namespace runner {

namespace {

enum class Content { random, constant };
constexpr auto describe(std::type_identity<Content>) {
  return choices(choice("random", Content::random, "every example differs"),
                 choice("constant", Content::constant, "all examples are the same"));
}

struct Synthetic {
  std::vector<std::int64_t> shape = {3, 32, 32};
  std::int64_t classes = 10;
  std::int64_t train = 50000;
  std::int64_t eval = 10000;
  Content content = Content::random;
};

constexpr std::int64_t most_examples = 10'000'000, most_values = 1 << 28;

constexpr auto describe(std::type_identity<Synthetic>) {
  return fields(
      field("shape", &Synthetic::shape,
            "Shape of one example. [1 or 3, height, width] are images, which transforms apply to; any other "
            "shape is plain numbers.",
            non_empty(), at_least(1)),
      field("classes", &Synthetic::classes, "Labels are drawn from 0 to classes - 1.", within(1, 1 << 20)),
      field("train", &Synthetic::train, "Examples to train on.", within(1, most_examples)),
      field("eval", &Synthetic::eval, "Examples to evaluate with.", within(1, most_examples)),
      field("content", &Synthetic::content, "What the examples hold."));
}

// Numbers in one example, or most_values + 1 if there are more: the product cannot overflow.
std::int64_t value_count(const Synthetic& settings) {
  std::int64_t count = 1;
  for (const std::int64_t size : settings.shape) {
    if (size < 1 || size > most_values / count) return most_values + 1;
    count *= size;
  }
  return count;
}

void check(const Synthetic& settings, Report& report) {
  if (value_count(settings) > most_values)
    report.error("shape", "makes an example of more than 2^28 numbers");
}

DataSpec synthetic_spec(const Synthetic& settings) {
  DataSpec spec;
  spec.input_shape = settings.shape;
  spec.classes = settings.classes;
  spec.train_examples = settings.train;
  spec.images = settings.shape.size() == 3 && (settings.shape[0] == 1 || settings.shape[0] == 3);
  if (spec.images) {
    // Uniform bytes, scaled to 0..1.
    spec.mean.assign(static_cast<std::size_t>(settings.shape[0]), 0.5);
    spec.deviation.assign(static_cast<std::size_t>(settings.shape[0]), 0.2892);
  }
  return spec;
}

std::uint64_t word_of(std::uint64_t seed, Phase phase, std::int64_t index) {
  return example_seed(seed, phase == Phase::training ? 0 : 1, static_cast<std::uint64_t>(index));
}

std::int64_t label_of(const Synthetic& settings, std::uint64_t word) {
  return static_cast<std::int64_t>((word >> 32) % static_cast<std::uint64_t>(settings.classes));
}

// There is a little more random content than one example needs, and each example starts at another place in
// it. So an example costs no more than reading it, and memory does not grow with the number of examples.
constexpr std::size_t room_to_move = 1 << 16;

std::size_t start_of(const Synthetic& settings, std::uint64_t word) {
  return settings.content == Content::constant ? 0 : static_cast<std::size_t>(word % room_to_move);
}

class SyntheticImages final : public ImageSplit {
 public:
  SyntheticImages(const Synthetic& settings, const TransformPipeline& transforms, Phase phase,
                  std::uint64_t seed)
      : ImageSplit(synthetic_spec(settings), transforms, phase),
        settings_(settings),
        phase_(phase),
        seed_(seed) {
    bytes_.resize(static_cast<std::size_t>(value_count(settings)) + room_to_move);
    ExampleRandom random(seed);
    for (std::uint8_t& byte : bytes_) byte = static_cast<std::uint8_t>(random.bits());
  }

  std::int64_t size() const override { return phase_ == Phase::training ? settings_.train : settings_.eval; }

 protected:
  ImageView image(std::int64_t index, Scratch&) const override {
    const std::uint8_t* start = bytes_.data() + start_of(settings_, word_of(seed_, phase_, index));
    return ImageView::planar(start, settings_.shape[0], settings_.shape[1], settings_.shape[2]);
  }
  std::int64_t label(std::int64_t index) const override {
    return label_of(settings_, word_of(seed_, phase_, index));
  }

 private:
  Synthetic settings_;
  Phase phase_;
  std::uint64_t seed_;
  std::vector<std::uint8_t> bytes_;
};

class SyntheticNumbers final : public Split {
 public:
  SyntheticNumbers(const Synthetic& settings, Phase phase, std::uint64_t seed)
      : settings_(settings),
        phase_(phase),
        seed_(seed),
        count_(static_cast<std::size_t>(value_count(settings))) {
    numbers_.resize(count_ + room_to_move);
    ExampleRandom random(seed);
    for (float& number : numbers_) number = static_cast<float>(random.normal());
  }

  std::int64_t size() const override { return phase_ == Phase::training ? settings_.train : settings_.eval; }
  DataSpec spec() const override { return synthetic_spec(settings_); }
  std::optional<std::int64_t> class_of(std::int64_t index) const override {
    return label_of(settings_, word_of(seed_, phase_, index));
  }

  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    const bool contiguous = batch.input.is_contiguous();
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const std::uint64_t word = word_of(seed_, phase_, examples[i].index);
      const std::int64_t row = first + static_cast<std::int64_t>(i);
      const float* numbers = numbers_.data() + start_of(settings_, word);
      if (contiguous) {
        std::memcpy(batch.input.data_ptr<float>() + row * static_cast<std::int64_t>(count_), numbers,
                    count_ * sizeof(float));
      } else {
        batch.input[row].copy_(torch::from_blob(const_cast<float*>(numbers), settings_.shape));
      }
      batch.target.data_ptr<std::int64_t>()[row] = label_of(settings_, word);
    }
  }

 private:
  Synthetic settings_;
  Phase phase_;
  std::uint64_t seed_;
  std::size_t count_;
  std::vector<float> numbers_;
};

class SyntheticDataset final : public Dataset {
 public:
  SyntheticDataset(const Synthetic& settings, std::uint64_t seed) : settings_(settings), seed_(seed) {}

  DataSpec spec() const override { return synthetic_spec(settings_); }
  Splits open(const TransformPipeline& transforms) const override {
    return {make(transforms, Phase::training), make(transforms, Phase::evaluation)};
  }

 private:
  std::unique_ptr<Split> make(const TransformPipeline& transforms, Phase phase) const {
    if (spec().images) return std::make_unique<SyntheticImages>(settings_, transforms, phase, seed_);
    return std::make_unique<SyntheticNumbers>(settings_, phase, seed_);
  }

  Synthetic settings_;
  std::uint64_t seed_;
};

DatasetFacts facts(const Synthetic& settings) {
  if (!synthetic_spec(settings).images) return {.tasks = {Task::numbers}};
  const bool square = settings.shape[1] == settings.shape[2];
  return {.tasks = {Task::images, Task::reconstruction}, .image_side = square ? settings.shape[1] : 0};
}

std::unique_ptr<Dataset> build(const Synthetic& settings, const DatasetInputs& inputs) {
  return std::make_unique<SyntheticDataset>(settings, inputs.seed);
}

const Registration<DatasetKind> registration{
    "synthetic", "Random examples of any shape at almost no cost, for measuring speed.", &build};

}  // namespace

}  // namespace runner
