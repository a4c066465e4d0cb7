#include <stdexcept>

#include "components/models/weights/load_weights.hpp"
#include "components/optimizers/groups.hpp"
#include "registry/make_part.hpp"
#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/accelerator_impl.hpp"
#include "runner/data/prepare_splits.hpp"

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

}  // namespace runner
