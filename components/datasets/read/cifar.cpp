#include "components/datasets/read/cifar.hpp"

#include "components/datasets/image_interpreter.hpp"
#include "components/datasets/image_split.hpp"
#include "components/datasets/stand_in.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/mapped_file.hpp"
#include "registry/files/open_file.hpp"

namespace runner {

namespace {

constexpr std::int64_t side = 32;
constexpr std::size_t image_bytes = 3 * side * side;

// Each image is read from the file when it is needed. Mapping the file would be as fast, but every page that
// was ever touched would count as memory of the run.
class CifarSplit final : public ImageSplit {
 public:
  CifarSplit(const CifarFormat& format, const TransformPipeline& transforms, Phase phase,
             const std::vector<std::filesystem::path>& files)
      : ImageSplit(format.spec, transforms, phase), record_bytes_(format.label_bytes + image_bytes) {
    for (const std::filesystem::path& path : files) {
      files_.emplace_back(path);
      append_labels(MappedFile(path), format);
    }
    records_per_file_ = labels_.size() / files_.size();
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }

 protected:
  ImageView image(std::int64_t index, Scratch& scratch) const override {
    const auto position = static_cast<std::size_t>(index);
    scratch.decoded.resize(image_bytes);
    try {
      files_[position / records_per_file_].read_at(
          (position % records_per_file_ + 1) * record_bytes_ - image_bytes, scratch.decoded);
    } catch (const IoError& error) {
      throw DataError(error.what());
    }
    return ImageView::planar(scratch.decoded.data(), 3, side, side);
  }
  std::int64_t label(std::int64_t index) const override { return labels_[static_cast<std::size_t>(index)]; }
  std::string example_name(std::int64_t index) const override {
    const auto position = static_cast<std::size_t>(index);
    return name_of(files_[position / records_per_file_].path(), position % records_per_file_);
  }

 private:
  static std::string name_of(const std::filesystem::path& file, std::size_t record) {
    return file.string() + ", record " + std::to_string(record);
  }

  void append_labels(const MappedFile& file, const CifarFormat& format) {
    const std::size_t records = file.bytes().size() / record_bytes_;
    for (std::size_t record = 0; record < records; ++record) {
      labels_.push_back(file.bytes()[record * record_bytes_ + format.label_position]);
      if (labels_.back() < format.spec.classes) continue;
      throw DataError(name_of(file.path(), record) + " has the label " + std::to_string(labels_.back()) +
                      ", but there are only " + std::to_string(format.spec.classes) +
                      " classes: the file is damaged.");
    }
  }

  std::size_t record_bytes_, records_per_file_ = 0;
  std::deque<OpenFile> files_;  // all of the same size
  std::vector<std::uint8_t> labels_;
};

class CifarDataset final : public Dataset {
 public:
  CifarDataset(CifarFormat format, const CifarSource& source, const DatasetInputs& inputs)
      : format_(std::move(format)),
        source_(source),
        stand_in_(build_stand_in(source.fallback, inputs, format_.spec, format_.published.title)) {}

  DataSpec spec() const override { return format_.spec; }

  Splits open(const TransformPipeline& transforms) const override {
    std::filesystem::path folder;
    try {
      folder = find_or_fetch(format_.published, source_.dir, source_.download);
    } catch (const DataMissing& reason) {
      return open_stand_in(stand_in_.get(), source_.fallback ? source_.fallback->name() : "", transforms,
                           reason, format_.stand_in_example);
    }
    try {
      std::vector<std::filesystem::path> train, eval;
      for (const PublishedFile& file : format_.published.files) {
        (&file == &format_.published.files.back() ? eval : train).emplace_back(folder / file.name);
      }
      return {std::make_unique<CifarSplit>(format_, transforms, Phase::training, train),
              std::make_unique<CifarSplit>(format_, transforms, Phase::evaluation, eval)};
    } catch (const IoError& error) {
      throw DataError(error.what());
    }
  }

  bool at_hand() const override { return !source_.download || is_complete(format_.published, source_.dir); }

  std::unique_ptr<Interpreter> interpreter(const TransformPipeline& transforms,
                                           const std::string&) const override {
    return image_interpreter(format_.spec, transforms);
  }

 private:
  CifarFormat format_;
  CifarSource source_;
  std::unique_ptr<Dataset> stand_in_;
};

}  // namespace

std::unique_ptr<Dataset> make_cifar(CifarFormat format, const CifarSource& source,
                                    const DatasetInputs& inputs) {
  return std::make_unique<CifarDataset>(std::move(format), source, inputs);
}

}  // namespace runner
