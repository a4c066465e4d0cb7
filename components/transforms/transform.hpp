#pragma once

#include <memory>
#include <vector>

#include "components/contract/batch.hpp"
#include "components/contract/data_spec.hpp"
#include "components/contract/example_random.hpp"
#include "components/transforms/image.hpp"
#include "registry/component.hpp"

namespace runner {

// Changes one image, or a whole batch. All randomness comes from the generator it is given. Several threads
// may use one transform at once.
//   struct Invert { double p = 0.5; };
//   constexpr auto describe(std::type_identity<Invert>) {
//     return fields(field("p", &Invert::p, "Probability that an image is inverted.", within(0, 1)));
//   }
//   class Inverted final : public Transform { void apply(Image&, ExampleRandom&) const override; .. };
//   std::unique_ptr<Transform> build(const Invert& settings, const TransformInputs&) {
//     return std::make_unique<Inverted>(settings.p);
//   }
//   const Registration<TransformKind> registration{"invert", "Inverts the colours of some images.", &build};
class Transform {
 public:
  virtual ~Transform() = default;

  virtual bool training_only() const { return false; }
  virtual DataSpec output(DataSpec input) const { return input; }  // how it changes the shape of an example
  virtual void apply(Image& /*image*/, ExampleRandom& /*random*/) const {}
  virtual void apply_to_batch(Batch& /*batch*/, ExampleRandom& /*random*/) const {
  }  // when all examples of the batch are written, in main memory
};

// The transforms of a dataset, in order. Splits share them.
struct TransformStep {
  std::shared_ptr<const Transform> transform;
  bool training = true;    // whether it acts on the training set
  bool evaluation = true;  // and on the validation set
};
using TransformPipeline = std::vector<TransformStep>;

struct TransformInputs {
  DataSpec data;  // the output of the transforms before it
};

enum class TransformPhase { automatic, training, evaluation, always };
constexpr auto describe(std::type_identity<TransformPhase>) {
  return choices(choice("auto", TransformPhase::automatic, "random ones in training only, others always"),
                 choice("train", TransformPhase::training, "in training only"),
                 choice("eval", TransformPhase::evaluation, "in evaluation only"),
                 choice("always", TransformPhase::always, "in both, random or not"));
}

struct TransformCommon {
  TransformPhase when = TransformPhase::automatic;
};
constexpr auto describe(std::type_identity<TransformCommon>) {
  return fields(field("when", &TransformCommon::when, "Which examples it acts on."));
}

struct TransformFacts {
  bool mixes_examples = false;  // apply_to_batch() combines examples, so that it needs several
};

struct TransformKind {
  static constexpr std::string_view name = "transform";
  static constexpr std::string_view summary = "What happens to each image before the model sees it.";
  static constexpr KindOnResume on_resume{.part = OnResume::course, .parameters = OnResume::course};
  using Product = Transform;
  using Inputs = TransformInputs;
  using Common = TransformCommon;
  using Facts = TransformFacts;
};

// Builds the transforms of a recipe, each for the output of the one before it. Throws std::runtime_error,
// which names the transform, if one cannot follow another.
TransformPipeline build_pipeline(const std::vector<Part<TransformKind>>& parts, const DataSpec& data);

// What the data looks like after the transforms that act in that phase.
DataSpec after(const TransformPipeline& pipeline, DataSpec data, bool training);

}  // namespace runner
