#include "components/datasets/image_interpreter.hpp"
#include "components/datasets/image_split.hpp"
#include "components/datasets/read/image_file.hpp"
#include "components/datasets/read/labelled_files.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

struct ImageFolder {
  std::filesystem::path dir = {};
  std::string train = "train";
  std::string eval = "val";
  std::optional<double> split = {};
  std::optional<std::uint32_t> split_seed = {};
  bool exif = false;

  Turned turned() const { return exif ? Turned::upright : Turned::as_stored; }
};

constexpr auto describe(std::type_identity<ImageFolder>) {
  return fields(
      field("dir", &ImageFolder::dir,
            "Folder with the images: train/CLASS/*.jpg and val/CLASS/*.jpg, or CLASS/*.jpg with "
            "`split`. JPEG and PNG; "
            "classes are numbered by name.",
            required(), non_empty()),
      field("train", &ImageFolder::train, "Name of the training folder in `dir`.", non_empty()),
      field("eval", &ImageFolder::eval, "Name of the evaluation folder in `dir`.", non_empty()),
      field("split", &ImageFolder::split,
            "The class folders are in `dir` itself, and this share of each class becomes the validation set.",
            above(0), below(1)),
      field("split_seed", &ImageFolder::split_seed, "Seed of the choice of these images; default: 1."),
      field("exif", &ImageFolder::exif,
            "Turn photographs upright, as their EXIF data says. Otherwise images are used as they are "
            "stored, as torchvision's ImageFolder does."));
}

void check(const ImageFolder& settings, Report& report) {
  const ImageFolder defaults;
  if (settings.split && settings.train != defaults.train)
    report.error("train", "cannot be combined with split");
  if (settings.split && settings.eval != defaults.eval) report.error("eval", "cannot be combined with split");
  if (!settings.split && settings.split_seed) report.error("split_seed", "has no effect without split");
  if (!settings.split && settings.train == settings.eval)
    report.error("eval", "must not be the folder to train on");
}

class ImageFolderSplit final : public ImageSplit {
 public:
  ImageFolderSplit(const DataSpec& spec, const TransformPipeline& transforms, Phase phase,
                   LabelledFiles files, Turned turned)
      : ImageSplit(spec, transforms, phase), files_(std::move(files)), turned_(turned) {}

  std::int64_t size() const override { return files_.size(); }

 protected:
  ImageView image(std::int64_t index, Scratch& scratch) const override {
    return read_image(files_.path(index), scratch, turned_);
  }
  std::int64_t label(std::int64_t index) const override { return files_.label(index); }
  std::string example_name(std::int64_t index) const override { return files_.path(index).string(); }

 private:
  LabelledFiles files_;
  Turned turned_;
};

// Looks at some of the images only: reading the beginning of each one would take long.
void warn_if_turned(const LabelledFiles& files) {
  const std::int64_t looked_at = std::min<std::int64_t>(files.size(), 200);
  std::int64_t turned = 0;
  for (std::int64_t i = 0; i < looked_at; ++i)
    turned += is_stored_turned(files.path(i * files.size() / looked_at)) ? 1 : 0;
  if (turned > 0)
    log::warning(
        "{} of the {} images examined are photographs taken with the camera turned, and are used as they are "
        "stored; dataset.exif = true turns them upright.",
        turned, looked_at);
}

DataSpec photographs() {
  DataSpec spec;
  spec.input_shape = {3, -1, -1};
  spec.images = true;
  spec.mean = {0.485, 0.456, 0.406};  // ImageNet's, as is usual for photographs
  spec.deviation = {0.229, 0.224, 0.225};
  return spec;
}

class ImageFolderDataset final : public Dataset {
 public:
  explicit ImageFolderDataset(const ImageFolder& settings) : settings_(settings) {}

  // Lists folders, but opens no image.
  DataSpec spec() const override {
    DataSpec spec = photographs();
    spec.class_names = classes();
    spec.classes = static_cast<std::int64_t>(spec.class_names.size());
    return spec;
  }

  Splits open(const TransformPipeline& transforms) const override {
    const DataSpec data = spec();
    FileSplit files = settings_.split
                          ? split_by_class(several_each(list_images(settings_.dir, data.class_names)),
                                           *settings_.split, settings_.split_seed.value_or(1))
                          : FileSplit{list_images(settings_.dir / settings_.train, data.class_names),
                                      list_images(settings_.dir / settings_.eval, data.class_names)};
    if (!settings_.exif) warn_if_turned(files.train);
    return {std::make_unique<ImageFolderSplit>(data, transforms, Phase::training, std::move(files.train),
                                               settings_.turned()),
            std::make_unique<ImageFolderSplit>(data, transforms, Phase::evaluation, std::move(files.eval),
                                               settings_.turned())};
  }

  std::unique_ptr<Interpreter> interpreter(const TransformPipeline& transforms,
                                           const std::string&) const override {
    return image_interpreter(photographs(), transforms, settings_.turned());  // the data may be gone
  }

 private:
  std::vector<std::string> classes() const {
    const std::filesystem::path& dir = settings_.dir;
    std::error_code ignored;
    if (!std::filesystem::is_directory(dir, ignored)) {
      throw DataError("There is no folder " + dir.string() +
                      ". Set dataset.dir to the folder with the images.");
    }
    if (settings_.split) {
      require_unsplit();
      return class_folders(dir);
    }
    for (const std::string& name : {settings_.train, settings_.eval}) {
      if (has(name)) continue;
      if (const std::string other = other_name(name); !other.empty()) {
        throw DataError("There is no folder " + (dir / name).string() + ", but there is " +
                        (dir / other).string() + ": set dataset." +
                        (name == settings_.train ? "train" : "eval") + " = " + in_quotes(other) + ".");
      }
      throw DataError("There is no folder " + (dir / name).string() + ". The images are expected in " +
                      settings_.train + "/CLASS and " + settings_.eval +
                      "/CLASS; if the class folders are in " + dir.string() +
                      " itself, set dataset.split = 0.2 to keep a fifth of the images for evaluation.");
    }
    return same_classes();
  }

  bool has(const std::string& name) const {
    std::error_code ignored;
    return std::filesystem::is_directory(settings_.dir / name, ignored);
  }

  // Otherwise the training set and the validation set would be taken for classes.
  void require_unsplit() const {
    const auto present = [&](const std::string& name) { return has(name) ? name : other_name(name); };
    const std::string train = present(settings_.train), eval = present(settings_.eval);
    if (train.empty() || eval.empty()) return;
    std::string remedy = "remove dataset.split";
    if (train != settings_.train) remedy += ", set dataset.train = " + in_quotes(train);
    if (eval != settings_.eval) remedy += ", set dataset.eval = " + in_quotes(eval);
    throw DataError(settings_.dir.string() + " is split into " + train + " and " + eval +
                    " already: " + remedy + ".");
  }

  // A folder that exists under another usual name of the missing one; "" if there is none.
  std::string other_name(const std::string& missing) const {
    const auto part = missing == settings_.train ? SplitPart::train : SplitPart::eval;
    for (const std::string& name : split_folders(settings_.dir, part)) {
      if (name != settings_.train && name != settings_.eval) return name;
    }
    return "";
  }

  std::vector<std::string> same_classes() const {
    const auto train = class_folders(settings_.dir / settings_.train),
               eval = class_folders(settings_.dir / settings_.eval);
    std::vector<std::string> only_train, only_eval;
    std::ranges::set_difference(train, eval, std::back_inserter(only_train));
    std::ranges::set_difference(eval, train, std::back_inserter(only_eval));
    if (only_train.empty() && only_eval.empty()) return train;
    std::string problem;
    if (!only_train.empty()) problem += "only " + settings_.train + " has " + listed(only_train);
    if (!only_eval.empty())
      problem += (problem.empty() ? "only " : ", only ") + settings_.eval + " has " + listed(only_eval);
    throw DataError("The classes in " + settings_.dir.string() + " differ: " + problem + ".");
  }

  // Each class needs at least one image to train on and one to evaluate with.
  LabelledFiles several_each(LabelledFiles files) const {
    for (std::int64_t i = 0; i < files.size(); ++i) {
      const bool alone = (i == 0 || files.label(i - 1) != files.label(i)) &&
                         (i + 1 == files.size() || files.label(i + 1) != files.label(i));
      if (!alone) continue;
      throw DataError(files.path(i).string() + " is the only image of its class: there is nothing to split.");
    }
    return files;
  }

  ImageFolder settings_;
};

DatasetFacts facts(const ImageFolder&) { return {.tasks = {Task::images, Task::reconstruction}}; }

std::unique_ptr<Dataset> build(const ImageFolder& settings, const DatasetInputs&) {
  return std::make_unique<ImageFolderDataset>(settings);
}

const Registration<DatasetKind> registration{
    "image_folder",
    "JPEG and PNG files, one folder per class. Needs a transform that gives all images the same size.",
    &build};

}  // namespace

}  // namespace runner
