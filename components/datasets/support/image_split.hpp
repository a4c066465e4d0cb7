#pragma once

#include <memory>
#include <string>
#include <vector>

#include "components/datasets/dataset.hpp"

namespace runner {

enum class Phase { training, evaluation };

// The base of all sets of labelled images. A dataset says where the pixels of an example are; the transforms,
// and the single pass from bytes to floats in the layout of the batch, happen here.
//
//   class Cifar : public ImageSplit {
//     std::int64_t size() const override { return 10000; }
//     ImageView image(std::int64_t index, Scratch&) const override {
//       return ImageView::planar(record(index) + 1, 3, 32, 32);
//     }
//     std::int64_t label(std::int64_t index) const override { return record(index)[0]; }
//   };
class ImageSplit : public Split {
 public:
  DataSpec spec() const final { return after_; }
  Batch allocate(std::int64_t examples, torch::MemoryFormat format) const final;
  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const final;
  void finish(Batch& batch, std::uint64_t seed) const final;
  std::optional<std::int64_t> class_of(std::int64_t index) const final { return label(index); }

 protected:
  // `raw` is the dataset's spec() before transforms, with input_shape {channels, height, width}; height and
  // width are -1 where images differ in size, and then transforms have to make them equal.
  ImageSplit(const DataSpec& raw, const TransformPipeline& transforms, Phase phase);

  // A view into memory that outlives the call, or into scratch.decoded after decoding there. Any size of
  // image, but always the channels of the spec. Called from several threads at once, each with its own
  // scratch.
  virtual ImageView image(std::int64_t index, Scratch& scratch) const = 0;
  virtual std::int64_t label(std::int64_t index) const = 0;
  // For messages, for example the path of the file.
  virtual std::string example_name(std::int64_t index) const { return "example " + std::to_string(index); }

 private:
  std::vector<std::shared_ptr<const Transform>> transforms_;
  DataSpec after_;  // what the model gets; read() itself writes class indices, which transforms of batches
                    // may change
  PixelTable plain_;
};

}  // namespace runner
