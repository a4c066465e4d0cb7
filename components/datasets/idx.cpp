#include <algorithm>
#include <nlohmann/json.hpp>

#include "components/datasets/idx_images.hpp"
#include "components/datasets/image_interpreter.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

namespace {

struct Idx {
  std::filesystem::path dir = {};
  std::string train_images = "train-images-idx3-ubyte";
  std::string train_labels = "train-labels-idx1-ubyte";
  std::string eval_images = "t10k-images-idx3-ubyte";
  std::string eval_labels = "t10k-labels-idx1-ubyte";
  std::int64_t classes = 10;
  double mean = 0.1307;
  double deviation = 0.3081;
};

constexpr auto describe(std::type_identity<Idx>) {
  return fields(
      field("dir", &Idx::dir, "Folder with the four files.", required(), non_empty()),
      field("train_images", &Idx::train_images, "File name, with or without .gz, or a path.", non_empty()),
      field("train_labels", &Idx::train_labels, "File name, with or without .gz, or a path.", non_empty()),
      field("eval_images", &Idx::eval_images, "File name, with or without .gz, or a path.", non_empty()),
      field("eval_labels", &Idx::eval_labels, "File name, with or without .gz, or a path.", non_empty()),
      field("classes", &Idx::classes, "Labels go from 0 to classes - 1.", within(1, 256)),
      field("mean", &Idx::mean,
            "Mean of the pixels, scaled to 0..1, that `normalize` uses by default; here that of MNIST.",
            within(0, 1)),
      field("deviation", &Idx::deviation, "Standard deviation of the pixels.", above(0), within(0, 1)));
}

// The size of the images is known from the training data alone, so it is kept for predictions.
std::string size_json(const DataSpec& spec) {
  const nlohmann::ordered_json size{{"height", spec.input_shape.at(1)}, {"width", spec.input_shape.at(2)}};
  return size.dump(1) + "\n";
}

std::vector<std::int64_t> shape_in(const std::string& learned) {
  std::vector<std::int64_t> shape{1};
  const nlohmann::json size = read_json_or_null(learned);
  for (const char* side : {"height", "width"}) {
    const auto found = size.find(side);
    if (found != size.end() && found->is_number_integer()) shape.push_back(found->get<std::int64_t>());
  }
  if (shape.size() == 3 && std::ranges::all_of(shape, [](std::int64_t extent) { return extent > 0; }))
    return shape;
  throw DataError("dataset.json does not hold the height and width of the images.");
}

class IdxDataset final : public Dataset {
 public:
  explicit IdxDataset(const Idx& settings) : settings_(settings) {}

  DataSpec spec() const override { return spec_of(idx_image_shape(find(settings_.train_images))); }

  Splits open(const TransformPipeline& transforms) const override {
    const IdxPaths paths{find(settings_.train_images), find(settings_.train_labels),
                         find(settings_.eval_images), find(settings_.eval_labels)};
    const DataSpec raw = spec();
    Splits splits = open_idx(paths, raw, transforms);
    splits.learned = size_json(raw);
    return splits;
  }

  std::unique_ptr<Interpreter> interpreter(const TransformPipeline& transforms,
                                           const std::string& learned) const override {
    // Runs of earlier versions kept nothing.
    return image_interpreter(learned.empty() ? spec() : spec_of(shape_in(learned)), transforms);
  }

 private:
  DataSpec spec_of(std::vector<std::int64_t> image_shape) const {
    DataSpec spec;
    spec.input_shape = std::move(image_shape);
    spec.classes = settings_.classes;
    spec.images = true;
    spec.mean = {settings_.mean};
    spec.deviation = {settings_.deviation};
    return spec;
  }

  std::filesystem::path find(const std::string& name) const {
    const auto path = find_idx_file(settings_.dir, name);
    if (!path.empty()) return path;
    throw DataError("There is neither " + name + " nor " + name + ".gz in " + settings_.dir.string() +
                    ". Put it there, or set dataset.dir to the folder that holds it.");
  }

  Idx settings_;
};

DatasetFacts facts(const Idx&) { return {.tasks = {Task::images, Task::reconstruction}}; }

std::unique_ptr<Dataset> build(const Idx& settings, const DatasetInputs&) {
  return std::make_unique<IdxDataset>(settings);
}

const Registration<DatasetKind> registration{
    "idx", "Grey images and labels in the IDX format of the MNIST family, gzipped or not.", &build};

}  // namespace

}  // namespace runner
