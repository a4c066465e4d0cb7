#pragma once

#include <memory>
#include <string>
#include <vector>

#include "components/datasets/dataset.hpp"

namespace runner {

enum class Phase { training, evaluation };

// The base of all splits of labelled images. A dataset only provides the pixels of an example. This class
// applies the transforms and writes bytes as floats, in the layout of the batch, in a single pass.
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
  // width are -1 if images differ in size; then transforms have to make them equal.
  ImageSplit(const DataSpec& raw, const TransformPipeline& transforms, Phase phase);

  // A view of memory that outlives the call, or of scratch.decoded after decoding into it. The image may have
  // any size, but must have the channels of the spec. Called from several threads at once, each with its own
  // scratch.
  virtual ImageView image(std::int64_t index, Scratch& scratch) const = 0;
  virtual std::int64_t label(std::int64_t index) const = 0;
  // For messages, for example the path of the file.
  virtual std::string example_name(std::int64_t index) const { return "example " + std::to_string(index); }

 private:
  std::vector<std::shared_ptr<const Transform>> transforms_;
  DataSpec after_;  // what the model gets; read() writes class indices, which transforms of whole batches may
                    // replace
  PixelTable plain_;
};

}  // namespace runner
