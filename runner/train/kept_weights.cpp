#include "runner/train/kept_weights.hpp"

#include "components/models/support/load_weights.hpp"
#include "runner/train/batch_statistics.hpp"

namespace runner {

std::vector<const KeptWeights*> kept_weights(const Run& run) {
  std::vector<const KeptWeights*> found;
  for (const auto& hook : run.hooks) {
    if (const KeptWeights* weights = hook->kept_weights()) found.push_back(weights);
  }
  return found;
}

KeptWeightsInPlace::KeptWeightsInPlace(Run& run, const KeptWeights& weights)
    : swapped_(run.engine, weights.tensors) {
  if (weights.statistics_batches > 0) recompute_batch_statistics(run, weights.statistics_batches);
}

void save_weights(Run& run, const std::string& name, const std::filesystem::path& path) {
  std::optional<KeptWeightsInPlace> in_place;
  for (const KeptWeights* weights : kept_weights(run)) {
    if (weights->name == name) in_place.emplace(run, *weights);
  }
  const std::vector<NamedTensor> all = run.engine.full_weights();  // every rank takes part
  if (run.engine.world().is_main()) save_weights(all, path);
}

}  // namespace runner
