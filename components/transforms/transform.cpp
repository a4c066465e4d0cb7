#include <stdexcept>
#include <string>

#include "components/transforms/transform.hpp"

namespace runner {
namespace {

TransformStep step(std::shared_ptr<const Transform> transform, TransformPhase when) {
  const bool training_only =
      when == TransformPhase::training || (when == TransformPhase::automatic && transform->training_only());
  return {std::move(transform), when != TransformPhase::evaluation, !training_only};
}

}  // namespace

TransformPipeline build_pipeline(const std::vector<Part<TransformKind>>& parts, const DataSpec& data) {
  if (!parts.empty() && !data.images) {
    throw std::runtime_error(
        "dataset.transform: this dataset has no images, so there is nothing to transform.");
  }
  TransformPipeline pipeline;
  for (const Part<TransformKind>& part : parts) {
    const bool training = part.common.when != TransformPhase::evaluation;
    try {
      pipeline.push_back(step(part.build({after(pipeline, data, training)}), part.common.when));
    } catch (const std::exception& error) {
      throw RecipeError(part.origin(), "dataset.transform." + std::to_string(pipeline.size()) + " (" +
                                           part.name() + "): " + error.what());
    }
  }
  return pipeline;
}

DataSpec after(const TransformPipeline& pipeline, DataSpec data, bool training) {
  for (const TransformStep& step : pipeline) {
    if (training ? step.training : step.evaluation) data = step.transform->output(std::move(data));
  }
  return data;
}

}  // namespace runner
