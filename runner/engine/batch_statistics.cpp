// Engine::average_batch_statistics: the statistics of batch norm for weights that were not trained
// themselves, such as averages.
#include <torch/nn/modules/batchnorm.h>

#include <algorithm>

#include "registry/base/log.hpp"
#include "runner/engine/engine.hpp"

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
      if (std::ranges::find(layers_, norm, &Layer::first) != layers_.end()) continue;  // it has two names
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
  using Layer = std::pair<std::shared_ptr<Norm>, std::optional<double>>;
  std::vector<Layer> layers_;
};

std::size_t running_means(const Weights& weights) {
  return static_cast<std::size_t>(
      std::ranges::count_if(weights.held_buffers(),
                            [](const NamedTensor& buffer) { return buffer.name.ends_with("running_mean"); }));
}

}  // namespace

void Engine::average_batch_statistics(const std::function<void()>& make_passes) {
  const Averaging<torch::nn::BatchNorm1dImpl> lines(*model_);
  const Averaging<torch::nn::BatchNorm2dImpl> planes(*model_);
  const Averaging<torch::nn::BatchNorm3dImpl> volumes(*model_);
  const std::size_t layers = lines.size() + planes.size() + volumes.size();
  if (running_means(weights()) > layers)
    log::warning(
        "Some batch-norm layers of this model are not LibTorch modules: their statistics stay unchanged.");
  if (layers == 0) return;
  make_passes();
  finish_passes();
  share_buffers();
}

}  // namespace runner
