#include "components/datasets/idx_images.hpp"

#include "components/datasets/image_split.hpp"
#include "components/datasets/read/idx_file.hpp"
#include "registry/files/io_error.hpp"

namespace runner {

namespace {

class IdxSplit final : public ImageSplit {
 public:
  IdxSplit(const DataSpec& spec, const TransformPipeline& transforms, Phase phase,
           const std::filesystem::path& images, const std::filesystem::path& labels)
      : ImageSplit(spec, transforms, phase), images_(images), labels_(labels), classes_(spec.classes) {
    const auto& shape = images_.shape();
    if (shape.size() != 3)
      throw DataError(images.string() + " does not contain images: it is not a list of rows of pixels.");
    if (labels_.shape().size() != 1)
      throw DataError(labels.string() + " does not contain labels: it is not a plain list.");
    height_ = shape[1], width_ = shape[2];
    if (spec.input_shape != std::vector<std::int64_t>{1, height_, width_}) {
      throw DataError(images.string() + " holds images of " + std::to_string(height_) + " x " +
                      std::to_string(width_) + " pixels instead of " + std::to_string(spec.input_shape[1]) +
                      " x " + std::to_string(spec.input_shape[2]) + ".");
    }
    if (shape[0] != labels_.shape()[0]) {
      throw DataError(images.string() + " holds " + std::to_string(shape[0]) + " images, but " +
                      labels.string() + " " + std::to_string(labels_.shape()[0]) +
                      " labels: they do not belong together.");
    }
    for (std::int64_t index = 0; index < size(); ++index) check_label(index);
  }

  std::int64_t size() const override { return images_.shape()[0]; }

 protected:
  ImageView image(std::int64_t index, Scratch&) const override {
    return ImageView::planar(images_.values().data() + index * height_ * width_, 1, height_, width_);
  }
  std::int64_t label(std::int64_t index) const override {
    return labels_.values()[static_cast<std::size_t>(index)];
  }
  std::string example_name(std::int64_t index) const override {
    return images_.path().string() + ", image " + std::to_string(index);
  }

 private:
  void check_label(std::int64_t index) const {
    if (label(index) < classes_) return;
    throw DataError(labels_.path().string() + ": label " + std::to_string(index) + " is " +
                    std::to_string(label(index)) + ", but there are only " + std::to_string(classes_) +
                    " classes.");
  }

  IdxFile images_, labels_;
  std::int64_t classes_, height_ = 0, width_ = 0;
};

}  // namespace

std::filesystem::path find_idx_file(const std::filesystem::path& dir, const std::string& name) {
  std::vector<std::string> names = {name};
  if (const auto dash = name.rfind("-idx"); dash != std::string::npos) {
    names.push_back(name.substr(0, dash) + "." + name.substr(dash + 1));
  }
  std::error_code ignored;
  for (const std::string& candidate : names) {
    for (const char* ending : {"", ".gz"}) {
      const std::filesystem::path path = dir / (candidate + ending);
      if (std::filesystem::exists(path, ignored)) return path;
    }
  }
  return {};
}

std::vector<std::int64_t> idx_image_shape(const std::filesystem::path& images) {
  try {
    const auto shape = IdxFile::read_shape(images);
    if (shape.size() != 3)
      throw DataError(images.string() + " does not contain images: it is not a list of rows of pixels.");
    return {1, shape[1], shape[2]};
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
}

Splits open_idx(const IdxPaths& paths, const DataSpec& spec, const TransformPipeline& transforms) {
  try {
    return {
        std::make_unique<IdxSplit>(spec, transforms, Phase::training, paths.train_images, paths.train_labels),
        std::make_unique<IdxSplit>(spec, transforms, Phase::evaluation, paths.eval_images,
                                   paths.eval_labels)};
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
}

}  // namespace runner
