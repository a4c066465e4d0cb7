#include "components/datasets/idx_images.hpp"
#include "components/datasets/image_interpreter.hpp"

namespace runner {

namespace {

struct FashionMnist {
  std::filesystem::path dir = "/usr/share/datasets/fashion-mnist";
};

constexpr auto describe(std::type_identity<FashionMnist>) {
  return fields(field("dir", &FashionMnist::dir,
                      "Folder with the four files, gzipped or not. Default: where Debian's package "
                      "dataset-fashion-mnist puts them.",
                      non_empty()));
}

class FashionMnistDataset final : public Dataset {
 public:
  explicit FashionMnistDataset(const FashionMnist& settings) : settings_(settings) {}

  DataSpec spec() const override {
    DataSpec spec;
    spec.input_shape = {1, 28, 28};
    spec.classes = 10;
    spec.class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                        "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
    spec.images = true;
    spec.train_examples = 60000;
    spec.mean = {0.2860};
    spec.deviation = {0.3530};
    return spec;
  }

  Splits open(const TransformPipeline& transforms) const override {
    return open_idx({find("train-images-idx3-ubyte"), find("train-labels-idx1-ubyte"),
                     find("t10k-images-idx3-ubyte"), find("t10k-labels-idx1-ubyte")},
                    spec(), transforms);
  }

  std::unique_ptr<Interpreter> interpreter(const TransformPipeline& transforms,
                                           const std::string&) const override {
    return image_interpreter(spec(), transforms);
  }

 private:
  std::filesystem::path find(const std::string& name) const {
    const auto path = find_idx_file(settings_.dir, name);
    if (!path.empty()) return path;
    throw DataError(
        "Fashion-MNIST's " + name + " is not in " + settings_.dir.string() +
        ". Install Debian's package dataset-fashion-mnist (apt install dataset-fashion-mnist), or set "
        "dataset.dir to the folder that holds the four files.");
  }

  FashionMnist settings_;
};

DatasetFacts facts(const FashionMnist&) {
  return {.tasks = {Task::images, Task::reconstruction}, .image_side = 28};
}

std::unique_ptr<Dataset> build(const FashionMnist& settings, const DatasetInputs&) {
  return std::make_unique<FashionMnistDataset>(settings);
}

const Registration<DatasetKind> registration{
    "fashion_mnist", "Fashion-MNIST: 60,000 + 10,000 grey pictures of clothes, 28x28, in 10 classes.",
    &build};

}  // namespace

}  // namespace runner
