#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>

#include <stdexcept>

#include "components/models/weights/load_weights.hpp"
#include "components/optimizers/groups.hpp"
#include "registry/make_part.hpp"
#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/accelerator_impl.hpp"
#include "runner/accelerator/batch_size.hpp"
#include "runner/data/prepare_splits.hpp"
#include "runner/engine/runtime/out_of_memory.hpp"

namespace runner {

Splits Accelerator::open_dataset(const ComponentChoice& dataset) {
  const auto part = make_part<DatasetKind>(impl_->registry, dataset.name, dataset.settings);
  const auto open = [&] {
    return prepare_splits(*part.build({impl_->options.seed}), SplitRules{part.common, {}});
  };
  std::optional<Splits> data;
  world().once(World::Once::on_each_machine, "the preparation of the data", [&] { data = open(); });
  return data ? *std::move(data) : open();
}

std::shared_ptr<Model> Accelerator::build_model(const ComponentChoice& model, const DataSpec& data) {
  const auto part = make_part<ModelKind>(impl_->registry, model.name, model.settings);
  std::shared_ptr<Model> built = build_structure(part, data);
  apply_common(*built, part.common);
  return built;
}

std::string Accelerator::load_model(torch::nn::Module& model, const std::filesystem::path& file,
                                    const LoadModelOptions& options) {
  ModelCommon common;
  common.strict = false;  // the message of the strict one is for recipes
  if (options.strict) {
    const WeightMatch match = match_weights(model, file, common, options.rename);
    if (const std::string wrong = match.summary.differences(); !wrong.empty())
      throw std::runtime_error("The weights in " + file.string() + " do not fit the model:" + wrong +
                               "\nLoadModelOptions: strict = false loads what fits, and rename gives the "
                               "model's name for one in the file.");
  }
  return load_weights(model, file, common, options.rename).text();
}

PreparedOptimizer Accelerator::build_optimizer(const ComponentChoice& optimizer) {
  return build_optimizer_for(optimizer, nullptr);
}

PreparedOptimizer Accelerator::build_optimizer(const ComponentChoice& optimizer,
                                               const torch::nn::Module& model) {
  return build_optimizer_for(optimizer, &model);
}

PreparedOptimizer Accelerator::build_optimizer_for(const ComponentChoice& optimizer,
                                                   const torch::nn::Module* only) {
  std::vector<torch::Tensor> wanted;
  for (const auto& model : impl_->models) {
    if (only && model->module.get() != only) continue;
    for (const torch::Tensor& parameter : model->module->parameters()) wanted.push_back(parameter);
  }
  torch::OrderedDict<std::string, torch::Tensor> parameters;
  for (const auto& [name, tensor] : impl_->named(wanted)) parameters.insert(name, tensor);
  if (parameters.is_empty())
    throw std::logic_error("build_optimizer() needs the parameters of a model: prepare() it first.");
  const auto part = make_part<OptimizerKind>(impl_->registry, optimizer.name, optimizer.settings);
  return prepare_optimizer(part.build({make_groups(parameters, part.common)}), parameters.values());
}

void Accelerator::free_memory() {
  if (!impl_->window.between_updates())
    throw std::logic_error("call free_memory() between two updates: gradients are being accumulated.");
  if (!impl_->passes.empty()) throw std::logic_error("call free_memory() after the pass over a loader.");
  impl_->window.restart();
  impl_->window.unwatch();
  impl_->all_models = std::make_shared<torch::nn::Module>();
  impl_->engine.prepare_module(impl_->all_models);
  impl_->models.clear();
  impl_->optimizers.clear();
  impl_->torch_optimizers.clear();
  impl_->checked_optimizers = 0;
  impl_->schedulers.clear();
  impl_->loaders.clear();
  impl_->objects.clear();
  drop_cached_memory();
}

void drop_cached_memory() {
  if (at::hasCUDA()) at::accelerator::emptyCache();
}

bool memory_ran_out(const std::exception& error) { return is_out_of_memory(error); }

}  // namespace runner
