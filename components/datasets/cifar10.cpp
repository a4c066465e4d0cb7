#include "components/datasets/read/cifar.hpp"
#include "components/datasets/stand_in.hpp"

namespace runner {

namespace {

struct Cifar10 {
  std::filesystem::path dir = {};
  bool download = true;
  std::string url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz";
  std::optional<Part<DatasetKind>> fallback = {};
};

constexpr auto describe(std::type_identity<Cifar10>) {
  return fields(
      field("dir", &Cifar10::dir,
            "Folder with data_batch_1.bin .. 5 and test_batch.bin, or with a folder cifar-10-batches-bin "
            "that has them; empty: the user's cache folder."),
      field("download", &Cifar10::download, "Download the data (170 MB) if it is missing.", harmless()),
      field("url", &Cifar10::url, "Where to download it from, for example a mirror.", non_empty(),
            harmless()),
      field("fallback", &Cifar10::fallback,
            "Dataset to use if the data is missing and cannot be downloaded; default: none; missing "
            "data is then an error."));
}

void check(const Cifar10& settings, Report& report) { check_stand_in(settings.fallback, report); }

CifarFormat format_of(const Cifar10& settings) {
  constexpr std::size_t file_bytes = std::size_t{10'000} * 3'073;
  CifarFormat format;
  format.published = {.title = "CIFAR-10",
                      .url = settings.url,
                      .sha256 = "",
                      .folder = "cifar-10-batches-bin",
                      .files = {{"data_batch_1.bin", file_bytes,
                                 "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
                                {"data_batch_2.bin", file_bytes,
                                 "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
                                {"data_batch_3.bin", file_bytes,
                                 "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
                                {"data_batch_4.bin", file_bytes,
                                 "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
                                {"data_batch_5.bin", file_bytes,
                                 "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
                                {"test_batch.bin", file_bytes,
                                 "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"}}};
  format.spec.input_shape = {3, 32, 32};
  format.spec.classes = 10;
  format.spec.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                             "dog",      "frog",       "horse", "ship", "truck"};
  format.spec.images = true;
  format.spec.train_examples = 50000;
  format.spec.mean = {0.4914, 0.4822, 0.4465};
  format.spec.deviation = {0.2470, 0.2435, 0.2616};
  format.stand_in_example = "\"shapes\"";
  return format;
}

DatasetFacts facts(const Cifar10&) {
  return {.tasks = {Task::images, Task::reconstruction}, .image_side = 32};
}

std::unique_ptr<Dataset> build(const Cifar10& settings, const DatasetInputs& inputs) {
  return make_cifar(format_of(settings), {settings.dir, settings.download, settings.fallback}, inputs);
}

const Registration<DatasetKind> registration{
    "cifar10", "CIFAR-10: 50,000 + 10,000 colour photographs, 32x32, in 10 classes (Krizhevsky 2009).",
    &build};

}  // namespace

}  // namespace runner
