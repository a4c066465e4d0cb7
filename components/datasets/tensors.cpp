#include <ATen/Dispatch.h>
#include <torch/utils.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "components/datasets/image_split.hpp"
#include "components/datasets/read/file_text.hpp"
#include "components/datasets/read/read_all.hpp"
#include "components/datasets/selection.hpp"
#include "components/torch/shape_text.hpp"
#include "components/weights/safetensors.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

namespace {

struct Tensors {
  std::filesystem::path train = {};
  std::filesystem::path eval = {};
  std::string input = "input";
  std::string target = "target";
  std::optional<std::int64_t> classes = {};
  bool standardize_target = false;
};

constexpr int most_classes = 1 << 24;

constexpr auto describe(std::type_identity<Tensors>) {
  return fields(
      field("train", &Tensors::train, "Safetensors file to train on.", required(), non_empty()),
      field("eval", &Tensors::eval, "Safetensors file to evaluate with.", required(), non_empty()),
      field("input", &Tensors::input,
            "Name of the tensor with the inputs; its first dimension is the example. Bytes (N, 1 "
            "or 3, height, width) with classes as targets are images, which transforms apply to; other "
            "integers become int64, other numbers float32.",
            non_empty()),
      field("target", &Tensors::target,
            "Name of the tensor with the targets. One integer or bool per example is a class, or -100, which "
            "losses and metrics ignore (not for images); anything else is treated like the inputs.",
            non_empty()),
      field("classes", &Tensors::classes,
            "Number of classes; default: one more than the largest class in the training file.",
            within(1, most_classes)),
      field("standardize_target", &Tensors::standardize_target,
            "Scale targets that are one number per example to mean 0 and standard deviation 1 of the "
            "training file. Predictions, "
            "mae and rmse are in the units of the file."));
}

struct Pair {
  std::filesystem::path path;
  torch::Tensor input, target;
};

bool is_integer(const torch::Tensor& tensor) {
  return c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false);
}

bool holds_images(const torch::Tensor& input) {
  return input.scalar_type() == torch::kUInt8 && input.dim() == 4 &&
         (input.size(1) == 1 || input.size(1) == 3);
}

bool holds_classes(const torch::Tensor& target) { return is_integer(target) && target.dim() == 1; }

// LibTorch has these types, but hardly any operators for them.
torch::Tensor computable(const torch::Tensor& tensor) {
  const auto type = tensor.scalar_type();
  if (c10::isFloat8Type(type)) return tensor.to(torch::kFloat32);
  return c10::isBarebonesUnsignedType(type) ? tensor.to(torch::kInt64) : tensor;
}

torch::Tensor find(const std::map<std::string, torch::Tensor>& tensors, const std::string& name,
                   const std::filesystem::path& path) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    std::vector<std::string> names;
    for (const auto& [key, tensor] : tensors) names.push_back(key);
    throw DataError(path.string() + " has no tensor " + in_quotes(name) +
                    ". It holds: " + (names.empty() ? "none" : listed(names)) + ".");
  }
  if (found->second.dim() == 0)
    throw DataError(path.string() + ": " + in_quotes(name) + " is one number, not a list of examples.");
  if (found->second.is_complex()) {
    throw DataError(path.string() + ": " + in_quotes(name) + " holds complex numbers.");
  }
  return computable(found->second);
}

// [examples, height, width, channels], as most Python libraries but PyTorch have images.
void require_channels_first(const torch::Tensor& input, const std::string& name,
                            const std::filesystem::path& path) {
  if (input.dim() != 4 || holds_images(input)) return;
  const std::int64_t last = input.size(3), height = input.size(1), width = input.size(2);
  constexpr std::int64_t smallest_side = 8;
  const bool channels_last =
      (last == 1 || last == 3 || last == 4) && height >= smallest_side && width >= smallest_side;
  if (!channels_last) return;
  const std::string shape =
      path.string() + ": " + in_quotes(name) + " has the shape " + shape_text(input.sizes().vec()) +
      ", which looks like images with their channels last. PyTorch has them first: save it as " +
      shape_text({input.size(0), last, height, width}) + ", tensor.permute(0, 3, 1, 2).contiguous().";
  if (input.scalar_type() == torch::kUInt8) throw DataError(shape);
  log::warning("{} If they are no images, nothing needs to be done.", shape);
}

std::map<std::string, torch::Tensor> read_file(const std::filesystem::path& path) {
  try {
    require_text(MappedFile(path).text(), path, "safetensors");
    return read_safetensors(path);
  } catch (const std::runtime_error& error) {
    throw DataError(error.what());
  }
}

Pair read_pair(const Tensors& settings, const std::filesystem::path& path) {
  const auto tensors = read_file(path);
  Pair pair{path, find(tensors, settings.input, path), find(tensors, settings.target, path)};
  // Of several labels per example, each is a number, 0 or 1.
  if (pair.target.scalar_type() == torch::kBool && pair.target.dim() == 1)
    pair.target = pair.target.to(torch::kUInt8);
  require_channels_first(pair.input, settings.input, path);
  if (pair.input.size(0) != pair.target.size(0)) {
    throw DataError(path.string() + " holds " + std::to_string(pair.input.size(0)) + " inputs, but " +
                    std::to_string(pair.target.size(0)) + " targets.");
  }
  if (pair.input.size(0) == 0) throw DataError(path.string() + " has no examples.");
  return pair;
}

void check_classes(const Pair& pair, std::int64_t classes) {
  if (!holds_classes(pair.target)) return;
  auto low = pair.target.min().item<std::int64_t>();
  const auto high = pair.target.max().item<std::int64_t>();
  // mixup and cutmix, which apply to images, cannot handle an ignored label.
  const bool may_ignore = !holds_images(pair.input);
  if (low == ignored_label && may_ignore) {
    const torch::Tensor counted = pair.target.masked_select(pair.target.ne(ignored_label));
    if (counted.numel() == 0)
      throw DataError(pair.path.string() + " has only the label " + std::to_string(ignored_label) +
                      ", which marks examples to be ignored.");
    low = counted.min().item<std::int64_t>();
  }
  if (low >= 0 && high < classes) return;
  if (low < 0) {
    throw DataError(pair.path.string() + " has the class " + std::to_string(low) +
                    ", but classes are numbered from 0. Renumber them, or remove these examples" +
                    (may_ignore ? "; the label " + std::to_string(ignored_label) +
                                      " marks those that loss and metrics ignore."
                                : "."));
  }
  throw DataError(pair.path.string() + " has classes from " + std::to_string(low) + " to " +
                  std::to_string(high) + ", but they should be 0 to " + std::to_string(classes - 1) +
                  ". Correct them, or set dataset.classes = " + std::to_string(high + 1) + ".");
}

torch::Dtype batch_type(const torch::Tensor& tensor) {
  return is_integer(tensor) ? torch::kInt64 : torch::kFloat32;
}

std::int64_t class_count(const Tensors& settings, const Pair& pair) {
  if (settings.classes || !holds_classes(pair.target)) return settings.classes.value_or(0);
  const auto largest = pair.target.max().item<std::int64_t>();
  if (largest < most_classes) return std::max<std::int64_t>(1, largest + 1);
  throw DataError(pair.path.string() + ": " + in_quotes(settings.target) + " holds integers up to " +
                  std::to_string(largest) + ", which are too many classes (at most " +
                  std::to_string(most_classes) + "). Save numbers to predict as floats.");
}

DataSpec spec_of(const Tensors& settings, const Pair& pair) {
  DataSpec spec;
  spec.train_examples = pair.input.size(0);
  spec.input_shape = pair.input.sizes().slice(1).vec();
  spec.target_shape = pair.target.sizes().slice(1).vec();
  spec.images = holds_images(pair.input) && holds_classes(pair.target);
  spec.input_type = spec.images ? torch::kFloat32 : batch_type(pair.input);
  spec.target_type = batch_type(pair.target);
  spec.classes = class_count(settings, pair);
  if (settings.standardize_target) {
    const bool number = spec.target_type == torch::kFloat32 && pair.target.numel() == pair.target.size(0);
    if (!number)
      throw DataError(
          pair.path.string() + ": " + in_quotes(settings.target) +
          " has not one number for each example: dataset.standardize_target is for those. Remove it.");
    const torch::Tensor values = pair.target.to(torch::kFloat64);
    const auto deviation = values.std(/*unbiased=*/false).item<double>();
    spec.target_mean = values.mean().item<double>();
    spec.target_deviation = deviation > 1e-12 * std::abs(spec.target_mean) ? deviation : 1;
  }
  if (spec.images) {
    spec.mean.assign(static_cast<std::size_t>(pair.input.size(1)), 0.5);
    spec.deviation.assign(static_cast<std::size_t>(pair.input.size(1)), 0.25);
  }
  return spec;
}

// A model begins near 0, so that targets such as 100 +- 3 take it very long to reach.
void look_at_scale(const Pair& pair, const DataSpec& data, const std::string& name) {
  constexpr double far = 10, large = 30;
  if (data.classes > 0 || data.target_type != torch::kFloat32 || pair.target.numel() != pair.target.size(0))
    return;
  const torch::Tensor values = pair.target.to(torch::kFloat64);
  const auto mean = values.mean().item<double>(), deviation = values.std(/*unbiased=*/false).item<double>();
  if (!std::isfinite(mean) || (std::abs(mean) < far * deviation && deviation < large) || deviation == 0)
    return;
  log::warning(
      "{}: {} has the mean {} and the standard deviation {}, far from where a model begins: it will learn "
      "slowly or "
      "not at all. dataset.standardize_target = true scales the targets.",
      pair.path.string(), in_quotes(name), mean, deviation);
}

// Reads the mapped file directly: converting the whole tensor would take memory for every example.
std::int64_t integer_at(const torch::Tensor& tensor, std::int64_t index) {
  return AT_DISPATCH_INTEGRAL_TYPES(tensor.scalar_type(), "label", [&]() -> std::int64_t {
    return tensor.const_data_ptr<scalar_t>()[index];
  });
}

class TensorImages final : public ImageSplit {
 public:
  TensorImages(const DataSpec& spec, const TransformPipeline& transforms, Phase phase, const Pair& pair)
      : ImageSplit(spec, transforms, phase),
        name_(pair.path.string()),
        input_(pair.input.contiguous()),
        labels_(pair.target.contiguous()) {}

  std::int64_t size() const override { return input_.size(0); }

 protected:
  ImageView image(std::int64_t index, Scratch&) const override {
    const std::uint8_t* pixels = input_.const_data_ptr<std::uint8_t>() + index * input_.stride(0);
    return ImageView::planar(pixels, input_.size(1), input_.size(2), input_.size(3));
  }
  std::int64_t label(std::int64_t index) const override { return integer_at(labels_, index); }
  std::string example_name(std::int64_t index) const override {
    return name_ + ", example " + std::to_string(index);
  }

 private:
  std::string name_;
  torch::Tensor input_, labels_;
};

class TensorRows final : public Split {
 public:
  TensorRows(DataSpec spec, Pair pair) : spec_(std::move(spec)), pair_(std::move(pair)) {}

  std::int64_t size() const override { return pair_.input.size(0); }
  DataSpec spec() const override { return spec_; }

  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    const torch::NoGradGuard no_gradients;
    const auto count = static_cast<std::int64_t>(examples.size());
    const torch::Tensor rows = torch::empty({count}, torch::kInt64);
    for (std::int64_t i = 0; i < count; ++i)
      rows.data_ptr<std::int64_t>()[i] = examples[static_cast<std::size_t>(i)].index;
    batch.input.narrow(0, first, count).copy_(pair_.input.index_select(0, rows));
    torch::Tensor targets = pair_.target.index_select(0, rows);
    if (spec_.target_mean != 0 || spec_.target_deviation != 1)
      targets = targets.to(torch::kFloat64).sub(spec_.target_mean).div(spec_.target_deviation);
    batch.target.narrow(0, first, count).copy_(targets);
  }

  std::optional<std::int64_t> class_of(std::int64_t index) const override {
    if (!holds_classes(pair_.target)) return std::nullopt;
    return integer_at(pair_.target.contiguous(), index);
  }

 private:
  DataSpec spec_;
  Pair pair_;
};

// An input to predict has no targets, which decide whether bytes are images, so the run keeps the decision.
std::string kind_json(const DataSpec& data) {
  nlohmann::ordered_json kind{{"images", data.images}};
  if (data.target_mean != 0 || data.target_deviation != 1)
    kind.update({{"target_mean", data.target_mean}, {"target_deviation", data.target_deviation}});
  return kind.dump(1) + "\n";
}

// A run is evaluated with the scale that it learnt, whatever the training file is now.
void use_learnt_scale(const std::string& learned, DataSpec& data) {
  const nlohmann::json kind = read_json_or_null(learned);
  if (!kind.is_object() || !kind.contains("target_mean")) return;
  data.target_mean = kind.value("target_mean", 0.0);
  data.target_deviation = kind.value("target_deviation", 1.0);
}

std::optional<bool> trained_on_images(const std::string& learned) {
  if (learned.empty()) return std::nullopt;  // a run of an earlier version: bytes in the shape of images are
  const nlohmann::json kind = read_json_or_null(learned);
  const auto found = kind.find("images");
  if (found != kind.end() && found->is_boolean()) return found->get<bool>();
  throw DataError("dataset.json does not say whether the inputs are images.");
}

// An input is a safetensors file; it needs no targets.
class TensorInterpreter final : public Interpreter {
 public:
  TensorInterpreter(const Tensors& settings, const TransformPipeline& transforms, std::optional<bool> images)
      : settings_(settings), transforms_(transforms), images_(images) {}

  Batch read(std::span<const std::string> inputs) const override {
    std::vector<torch::Tensor> batches;
    for (const std::string& input : inputs) batches.push_back(examples_of(input));
    return {.input = torch::cat(batches)};
  }

 private:
  torch::Tensor examples_of(const std::filesystem::path& path) const {
    Pair pair{path, find(read_file(path), settings_.input, path), {}};
    if (pair.input.size(0) == 0) throw DataError(path.string() + " has no examples.");
    if (images_ == true && !holds_images(pair.input)) {
      throw DataError(path.string() + ": " + in_quotes(settings_.input) + " holds " +
                      std::string(torch::toString(pair.input.scalar_type())) + " " +
                      shape_text(pair.input.sizes().vec()) +
                      ", but the run was trained on images: save bytes (uint8) of the shape [N, channels, "
                      "height, width].");
    }
    if (images_ == false || !holds_images(pair.input)) return pair.input.to(batch_type(pair.input));
    pair.target = torch::zeros({pair.input.size(0)}, torch::kInt64);
    return read_all(TensorImages(spec_of(settings_, pair), transforms_, Phase::evaluation, pair)).input;
  }

  Tensors settings_;
  TransformPipeline transforms_;
  std::optional<bool> images_;
};

class TensorDataset final : public Dataset {
 public:
  TensorDataset(const Tensors& settings, std::string learned)
      : settings_(settings), learned_(std::move(learned)) {}

  DataSpec spec() const override { return spec_of_run(read_pair(settings_, settings_.train)); }

  Splits open(const TransformPipeline& transforms) const override {
    const Pair train = read_pair(settings_, settings_.train), eval = read_pair(settings_, settings_.eval);
    const DataSpec data = spec_of_run(train), other = spec_of(settings_, eval);
    if (data.input_shape != other.input_shape || data.target_shape != other.target_shape ||
        data.images != other.images || data.input_type != other.input_type ||
        data.target_type != other.target_type) {
      throw DataError(settings_.train.string() + " and " + settings_.eval.string() +
                      " do not fit together: " + form_text(train.input) + " and " + form_text(train.target) +
                      " in one, " + form_text(eval.input) + " and " + form_text(eval.target) +
                      " in the other.");
    }
    check_classes(train, data.classes);
    check_classes(eval, data.classes);
    if (!settings_.standardize_target) look_at_scale(train, data, settings_.target);
    return {.train = make(data, transforms, Phase::training, train),
            .eval = make(data, transforms, Phase::evaluation, eval),
            .learned = kind_json(data)};
  }

  std::unique_ptr<Interpreter> interpreter(const TransformPipeline& transforms,
                                           const std::string& learned) const override {
    return std::make_unique<TensorInterpreter>(settings_, transforms, trained_on_images(learned));
  }

 private:
  static std::unique_ptr<Split> make(const DataSpec& data, const TransformPipeline& transforms, Phase phase,
                                     const Pair& pair) {
    if (data.images) return std::make_unique<TensorImages>(data, transforms, phase, pair);
    return std::make_unique<TensorRows>(data, pair);
  }

  DataSpec spec_of_run(const Pair& train) const {
    DataSpec data = spec_of(settings_, train);
    if (!learned_.empty() && settings_.standardize_target) use_learnt_scale(learned_, data);
    return data;
  }

  Tensors settings_;
  std::string learned_;  // by the run that is evaluated; empty: this one learns
};

DatasetFacts facts(const Tensors&) {
  return {.tasks = {Task::numbers, Task::segmentation, Task::translation}};
}

std::unique_ptr<Dataset> build(const Tensors& settings, const DatasetInputs& inputs) {
  return std::make_unique<TensorDataset>(settings, inputs.learned);
}

const Registration<DatasetKind> registration{
    "tensors", "Inputs and targets as tensors in safetensors files, for data that no other dataset reads.",
    &build};

}  // namespace

}  // namespace runner
