#include "components/datasets/read/cifar.hpp"
#include "components/datasets/stand_in.hpp"

namespace runner {

namespace {

enum class Labels { fine, coarse };
constexpr auto describe(std::type_identity<Labels>) {
  return choices(choice("fine", Labels::fine, "100 classes"),
                 choice("coarse", Labels::coarse, "20 superclasses"));
}

struct Cifar100 {
  std::filesystem::path dir = {};
  Labels labels = Labels::fine;
  bool download = true;
  std::string url = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz";
  std::optional<Part<DatasetKind>> fallback = {};
};

constexpr auto describe(std::type_identity<Cifar100>) {
  return fields(
      field("dir", &Cifar100::dir,
            "Folder with train.bin and test.bin, or with a folder cifar-100-binary that has them; empty: the "
            "user's cache folder."),
      field("labels", &Cifar100::labels, "Which of the two labels of an image to learn."),
      field("download", &Cifar100::download, "Download the data (169 MB) if it is missing.", harmless()),
      field("url", &Cifar100::url, "Where to download it from, for example a mirror.", non_empty(),
            harmless()),
      field("fallback", &Cifar100::fallback,
            "Dataset to use if the data is missing and cannot be downloaded; default: none; missing "
            "data is then an error."));
}

void check(const Cifar100& settings, Report& report) { check_stand_in(settings.fallback, report); }

std::vector<std::string> fine_names() {
  return {"apple",       "aquarium_fish", "baby",      "bear",       "beaver",       "bed",
          "bee",         "beetle",        "bicycle",   "bottle",     "bowl",         "boy",
          "bridge",      "bus",           "butterfly", "camel",      "can",          "castle",
          "caterpillar", "cattle",        "chair",     "chimpanzee", "clock",        "cloud",
          "cockroach",   "couch",         "crab",      "crocodile",  "cup",          "dinosaur",
          "dolphin",     "elephant",      "flatfish",  "forest",     "fox",          "girl",
          "hamster",     "house",         "kangaroo",  "keyboard",   "lamp",         "lawn_mower",
          "leopard",     "lion",          "lizard",    "lobster",    "man",          "maple_tree",
          "motorcycle",  "mountain",      "mouse",     "mushroom",   "oak_tree",     "orange",
          "orchid",      "otter",         "palm_tree", "pear",       "pickup_truck", "pine_tree",
          "plain",       "plate",         "poppy",     "porcupine",  "possum",       "rabbit",
          "raccoon",     "ray",           "road",      "rocket",     "rose",         "sea",
          "seal",        "shark",         "shrew",     "skunk",      "skyscraper",   "snail",
          "snake",       "spider",        "squirrel",  "streetcar",  "sunflower",    "sweet_pepper",
          "table",       "tank",          "telephone", "television", "tiger",        "tractor",
          "train",       "trout",         "tulip",     "turtle",     "wardrobe",     "whale",
          "willow_tree", "wolf",          "woman",     "worm"};
}

std::vector<std::string> coarse_names() {
  return {"aquatic_mammals",
          "fish",
          "flowers",
          "food_containers",
          "fruit_and_vegetables",
          "household_electrical_devices",
          "household_furniture",
          "insects",
          "large_carnivores",
          "large_man-made_outdoor_things",
          "large_natural_outdoor_scenes",
          "large_omnivores_and_herbivores",
          "medium_mammals",
          "non-insect_invertebrates",
          "people",
          "reptiles",
          "small_mammals",
          "trees",
          "vehicles_1",
          "vehicles_2"};
}

CifarFormat format_of(const Cifar100& settings) {
  constexpr std::size_t record_bytes = 3'074;
  CifarFormat format;
  format.published = {.title = "CIFAR-100",
                      .url = settings.url,
                      .sha256 = "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                      .folder = "cifar-100-binary",
                      .files = {{"train.bin", 50'000 * record_bytes}, {"test.bin", 10'000 * record_bytes}}};
  format.label_bytes = 2;  // coarse, fine
  format.label_position = settings.labels == Labels::fine ? 1 : 0;
  format.spec.input_shape = {3, 32, 32};
  format.spec.class_names = settings.labels == Labels::fine ? fine_names() : coarse_names();
  format.spec.classes = static_cast<std::int64_t>(format.spec.class_names.size());
  format.spec.images = true;
  format.spec.train_examples = 50000;
  format.spec.mean = {0.5071, 0.4865, 0.4409};
  format.spec.deviation = {0.2673, 0.2564, 0.2762};
  format.stand_in_example = "{ name = \"synthetic\", classes = " + std::to_string(format.spec.classes) + " }";
  return format;
}

DatasetFacts facts(const Cifar100&) {
  return {.tasks = {Task::images, Task::reconstruction}, .image_side = 32};
}

std::unique_ptr<Dataset> build(const Cifar100& settings, const DatasetInputs& inputs) {
  return make_cifar(format_of(settings), {settings.dir, settings.download, settings.fallback}, inputs);
}

const Registration<DatasetKind> registration{
    "cifar100", "CIFAR-100: 50,000 + 10,000 colour photographs, 32x32, in 100 classes (Krizhevsky 2009).",
    &build};

}  // namespace

}  // namespace runner
