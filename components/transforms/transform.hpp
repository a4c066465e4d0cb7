#pragma once

#include <memory>
#include <vector>

#include "components/batch.hpp"
#include "components/datasets/data_spec.hpp"
#include "components/transforms/image.hpp"
#include "components/transforms/sample_random.hpp"
#include "registry/component.hpp"

namespace runner {

// Changes one image, or a whole batch. All randomness comes from the generator it is given.
class Transform {
 public:
  virtual ~Transform() = default;

  virtual bool training_only() const { return false; }
  virtual DataSpec output(DataSpec input) const { return input; }  // how it changes the shape of an example
  virtual void apply(Image& /*image*/, SampleRandom& /*random*/) const {}
  virtual void apply(Batch& /*batch*/, SampleRandom& /*random*/) const {
  }  // once the batch is whole, on the host
};

// The transforms of a dataset, in order.
using TransformPipeline = std::vector<std::unique_ptr<Transform>>;

struct TransformInputs {
  DataSpec data;  // as the transforms before it leave it
};

struct TransformKind {
  static constexpr std::string_view name = "transform";
  static constexpr std::string_view summary = "What happens to each image before the model sees it.";
  using Product = Transform;
  using Inputs = TransformInputs;
};

}  // namespace runner
