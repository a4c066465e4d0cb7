#include "components/datasets/cifar.hpp"

#include "components/datasets/image_interpreter.hpp"
#include "components/datasets/image_split.hpp"
#include "components/datasets/stand_in.hpp"
#include "components/io/io_error.hpp"
#include "components/io/mapped_file.hpp"

namespace runner {

namespace {

constexpr std::int64_t side = 32;
constexpr std::size_t image_bytes = 3 * side * side;

class CifarSplit final : public ImageSplit {
 public:
  CifarSplit(const CifarFormat& format, const TransformPipeline& transforms, Phase phase,
             std::vector<MappedFile> files)
      : ImageSplit(format.spec, transforms, phase),
        files_(std::move(files)),
        record_bytes_(format.label_bytes + image_bytes),
        label_position_(format.label_position),
        records_per_file_(files_.front().bytes().size() / record_bytes_) {
    for (std::int64_t index = 0; index < size(); ++index) {
      if (label(index) < format.spec.classes) continue;
      throw DataError(sample_name(index) + " has the label " + std::to_string(label(index)) +
                      ", but there are only " + std::to_string(format.spec.classes) +
                      " classes: the file is damaged.");
    }
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size() * records_per_file_); }

 protected:
  ImageView image(std::int64_t index, Scratch&) const override {
    return ImageView::planar(record(index) + record_bytes_ - image_bytes, 3, side, side);
  }
  std::int64_t label(std::int64_t index) const override { return record(index)[label_position_]; }
  std::string sample_name(std::int64_t index) const override {
    const auto position = static_cast<std::size_t>(index);
    return files_[position / records_per_file_].path().string() + ", record " +
           std::to_string(position % records_per_file_);
  }

 private:
  const std::uint8_t* record(std::int64_t index) const {
    const auto position = static_cast<std::size_t>(index);
    return files_[position / records_per_file_].bytes().data() + position % records_per_file_ * record_bytes_;
  }

  std::vector<MappedFile> files_;  // equally long
  std::size_t record_bytes_, label_position_, records_per_file_;
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
      std::vector<MappedFile> train, eval;
      for (const PublishedFile& file : format_.published.files) {
        (&file == &format_.published.files.back() ? eval : train).emplace_back(folder / file.name);
      }
      return {std::make_unique<CifarSplit>(format_, transforms, Phase::training, std::move(train)),
              std::make_unique<CifarSplit>(format_, transforms, Phase::evaluation, std::move(eval))};
    } catch (const IoError& error) {
      throw DataError(error.what());
    }
  }

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
