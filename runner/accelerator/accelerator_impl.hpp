#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "registry/registry.hpp"
#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/gradient_window.hpp"
#include "runner/engine/engine.hpp"
#include "runner/runs/tracking/trackers.hpp"

namespace runner {

// As a recipe with these settings is checked. Throws std::invalid_argument.
void require_valid(const DistributedOptions& options, const Registry& registry);

struct Accelerator::Impl {
  Impl(std::unique_ptr<World> own, World& world, const AcceleratorOptions& options);

  // A model with its name in checkpoints.
  struct PreparedModel {
    std::string name;  // "model", "model.encoder"
    std::shared_ptr<torch::nn::Module> module;
    ModelWeights weights;
    std::string prefix() const { return name.substr(name.find('.') + 1) + "."; }
  };
  // The parameters of an optimizer, each once, with the names of their state in checkpoints. Those of "model"
  // have no prefix, unless another parameter would then have the same name.
  std::vector<NamedTensor> named(const std::vector<torch::Tensor>& parameters) const;
  // With zero1 and zero2: those that other ranks update.
  std::set<const torch::TensorImpl*> foreign_parameters() const;
  void require_known_parameters();  // of optimizers: unknown ones would not get gradients from other ranks

  std::unique_ptr<World> own_world;  // null if the caller owns the world
  World& world;
  const AcceleratorOptions options;
  const Registry registry;
  Engine engine;
  GradientWindow window;
  bool accumulating = false;  // within accumulate()
  bool sums = false;          // the losses of the window are sums
  bool triggered = false;     // set_trigger() was called on this rank
  std::int64_t iteration;     // of the next state of the project

  std::shared_ptr<torch::nn::Module> all_models = std::make_shared<torch::nn::Module>();
  std::vector<std::unique_ptr<PreparedModel>> models;
  std::vector<std::shared_ptr<PreparedOptimizer::Shared>> optimizers;
  std::set<const torch::optim::Optimizer*> torch_optimizers;  // LibTorch's among them
  std::size_t checked_optimizers = 0;
  std::vector<std::shared_ptr<PreparedScheduler::Shared>> schedulers;
  std::vector<std::shared_ptr<Stateful>> loaders;
  LoaderPasses passes;
  std::vector<std::pair<std::string, Stateful*>> objects;
  std::vector<ModelStatesHook> save_hooks, load_hooks;

  std::unique_ptr<Trackers> trackers;
  std::chrono::steady_clock::time_point tracking_since;
  const int exceptions_before = std::uncaught_exceptions();
};

}  // namespace runner
