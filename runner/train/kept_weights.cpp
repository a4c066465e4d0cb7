#include "runner/train/kept_weights.hpp"

#include <torch/utils.h>

#include "components/contract/example_random.hpp"
#include "components/models/weights/load_weights.hpp"
#include "components/models/weights/peft_folder.hpp"
#include "runner/train/feed.hpp"

namespace runner {

namespace {

// Passes that many training batches through the model, the same ones with the same dropout each time: in a
// repeated evaluation, and when the weights that were evaluated are saved.
void pass_training_batches(Run& run, std::int64_t batches) {
  LoaderOptions options = training_options(run.recipe, run.engine);
  // For the same bits on any number of ranks, each of them passes whole batches.
  if (run.recipe.distributed.reproducible) options.share = {};
  const State generators = run.generators.save();
  torch::manual_seed(example_seed(static_cast<std::uint64_t>(run.recipe.run.seed),
                                  static_cast<std::uint64_t>(run.progress.step),
                                  static_cast<std::uint64_t>(options.share.rank)));
  Loader loader(*run.data.train, options);
  const std::int64_t most = std::min(batches, loader.batches_per_epoch());
  for (std::int64_t count = 0; count < most; ++count) run.engine.pass(loader.next()->batch);
  run.generators.load(generators);  // an evaluation leaves no trace in the state of the run
}

}  // namespace

std::vector<const KeptWeights*> kept_weights(const Run& run) {
  std::vector<const KeptWeights*> found;
  for (const auto& hook : run.hooks) {
    if (const KeptWeights* weights = hook->kept_weights()) found.push_back(weights);
  }
  return found;
}

KeptWeightsInPlace::KeptWeightsInPlace(Run& run, const KeptWeights& weights)
    : swapped_(run.engine.swap_weights(weights.tensors)) {
  if (weights.statistics_batches == 0) return;
  run.engine.average_batch_statistics([&] { pass_training_batches(run, weights.statistics_batches); });
}

void save_run_weights(Run& run, const std::string& name, const std::filesystem::path& path,
                      const std::map<std::string, std::string>& metadata) {
  std::optional<KeptWeightsInPlace> in_place;
  for (const KeptWeights* weights : kept_weights(run)) {
    if (weights->name == name) in_place.emplace(run, *weights);
  }
  const std::filesystem::path folder = path.parent_path().empty() ? "." : path.parent_path();
  const std::vector<NamedTensor> all = run.engine.full_weights(folder);  // every rank takes part
  if (!run.engine.world().is_main()) return;
  const Adaptation* adaptation = run.engine.model().adaptation.get();
  if (!adaptation) return save_weights(all, path, metadata);
  std::vector<NamedTensor> trained = all;
  std::erase_if(trained, [&](const NamedTensor& each) { return adaptation->base.contains(each.name); });
  save_weights(trained, path, metadata);
  if (path.filename() == "model.safetensors") write_peft_folder(folder / "adapter", *adaptation, all);
}

}  // namespace runner
