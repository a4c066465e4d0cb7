#include "runner/train/batch_statistics.hpp"

#include <torch/nn/modules/batchnorm.h>

#include "registry/log.hpp"
#include "runner/train/feed.hpp"

namespace runner {

namespace {

// Without a momentum a layer averages over all it sees, each batch alike.
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

std::size_t running_means(const Model& model) {
  std::size_t count = 0;
  for (const auto& item : model.named_buffers()) count += item.key().ends_with("running_mean");
  return count;
}

}  // namespace

void recompute_batch_statistics(Run& run, std::int64_t batches) {
  const Averaging<torch::nn::BatchNorm1dImpl> lines(run.engine.model());
  const Averaging<torch::nn::BatchNorm2dImpl> planes(run.engine.model());
  const Averaging<torch::nn::BatchNorm3dImpl> volumes(run.engine.model());
  const std::size_t layers = lines.size() + planes.size() + volumes.size();
  if (running_means(run.engine.model()) > layers)
    log::warning(
        "Some batch-norm layers of this model are not made here: their statistics stay as they are.");
  if (layers == 0) return;
  Loader loader(*run.data.train, training_options(run.recipe, run.engine));
  const std::int64_t most = std::min(batches, loader.batches_per_epoch());
  for (std::int64_t count = 0; count < most; ++count) {
    const Batch batch = loader.next()->batch;
    if (batch.size() > 0) run.engine.pass(batch);
  }
  run.engine.share_buffers();
}

}  // namespace runner
