#include "runner/train/kept_weights.hpp"

#include <torch/nn/modules/batchnorm.h>
#include <torch/utils.h>

#include "components/contract/example_random.hpp"
#include "components/models/support/load_weights.hpp"
#include "registry/log.hpp"
#include "runner/train/feed.hpp"

namespace runner {

namespace {

// Resets running statistics and removes the momentum, so that a layer averages all batches with equal weight.
template <class Norm>
class Averaging {
 public:
  explicit Averaging(Model& model) {
    for (const auto& module : model.modules(/*include_self=*/false)) {
      auto norm = std::dynamic_pointer_cast<Norm>(module);
      if (!norm || !norm->options.track_running_stats()) continue;
      norm->reset_running_stats();
      layers_.emplace_back(norm, norm->options.momentum());
      norm->options.momentum(std::nullopt);
    }
  }
  ~Averaging() {
    for (auto& [norm, momentum] : layers_) norm->options.momentum(momentum);
  }
  Averaging(const Averaging&) = delete;
  Averaging& operator=(const Averaging&) = delete;

  std::size_t size() const { return layers_.size(); }

 private:
  std::vector<std::pair<std::shared_ptr<Norm>, std::optional<double>>> layers_;
};

std::size_t running_means(const Weights& weights) {
  std::size_t count = 0;
  for (const NamedTensor& buffer : weights.held_buffers()) count += buffer.name.ends_with("running_mean");
  return count;
}

// Sets the running mean and variance of every batch-norm layer to the average over that many training
// batches, with the current weights. Does nothing if the model has no such layer.
void recompute_batch_statistics(Run& run, std::int64_t batches) {
  const Averaging<torch::nn::BatchNorm1dImpl> lines(run.engine.model());
  const Averaging<torch::nn::BatchNorm2dImpl> planes(run.engine.model());
  const Averaging<torch::nn::BatchNorm3dImpl> volumes(run.engine.model());
  const std::size_t layers = lines.size() + planes.size() + volumes.size();
  if (running_means(run.engine.weights()) > layers)
    log::warning(
        "Some batch-norm layers of this model are not LibTorch modules: their statistics stay unchanged.");
  if (layers == 0) return;
  LoaderOptions options = training_options(run.recipe, run.engine);
  // For the same bits on any number of ranks, each of them passes whole batches.
  if (run.recipe.distributed.reproducible) options.share = {};
  // The same dropout each time: in a repeated evaluation, and when the weights that were evaluated are saved.
  torch::manual_seed(example_seed(static_cast<std::uint64_t>(run.recipe.run.seed),
                                  static_cast<std::uint64_t>(run.progress.step),
                                  static_cast<std::uint64_t>(options.share.rank)));
  Loader loader(*run.data.train, options);
  const std::int64_t most = std::min(batches, loader.batches_per_epoch());
  for (std::int64_t count = 0; count < most; ++count) run.engine.pass(loader.next()->batch);
  run.engine.finish_passes();
  run.engine.share_buffers();
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
  if (weights.statistics_batches > 0) recompute_batch_statistics(run, weights.statistics_batches);
}

void save_run_weights(Run& run, const std::string& name, const std::filesystem::path& path,
                      const std::map<std::string, std::string>& metadata) {
  std::optional<KeptWeightsInPlace> in_place;
  for (const KeptWeights* weights : kept_weights(run)) {
    if (weights->name == name) in_place.emplace(run, *weights);
  }
  const std::filesystem::path folder = path.parent_path().empty() ? "." : path.parent_path();
  const std::vector<NamedTensor> all = run.engine.full_weights(folder);  // every rank takes part
  if (run.engine.world().is_main()) save_weights(all, path, metadata);
}

}  // namespace runner
