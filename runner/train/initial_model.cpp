#include "runner/train/initial_model.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <set>

#include "components/models/weights/adapt_model.hpp"
#include "components/models/weights/load_weights.hpp"
#include "registry/base/log.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/mapping_guard.hpp"
#include "runner/inspect/hollow_model.hpp"
#include "runner/recipe/parts.hpp"

namespace runner {

namespace {

using From = ParameterValues::From;

std::shared_ptr<Model> build_in_file(const Recipe& recipe, const DataSpec& data) {
  try {
    return build_spooled_model(recipe, data, temporary_folder());
  } catch (const IoError& error) {
    log::warning("{} The initial weights are in memory instead; set TMPDIR to use another folder.",
                 error.what());
    return build_bare_model(recipe, data);
  }
}

InitialModel from_rank_0(const Recipe& recipe, const DataSpec& data, const World& world) {
  InitialModel initial{.values = {.from = From::rank_0}};
  if (!world.is_main()) {
    initial.model = build_hollow_model(recipe, data);
    if (recipe.model.common.adapter) adapt_sketch(*initial.model, *recipe.model.common.adapter);
    freeze_parameters(*initial.model, recipe.model.common.freeze);
    return initial;
  }
  initial.model = build_in_file(recipe, data);
  if (const auto loaded = apply_common(*initial.model, recipe.model.common)) log::info(loaded->text());
  for (const auto& item : initial.model->named_parameters())
    initial.values.tensors[item.key()] = item.value().detach();
  return initial;
}

// Whether the file has every parameter, and no parameter has two names in the model.
bool has_all_parameters(const WeightMatch& match, const Model& model) {
  std::set<std::string> found;
  for (const WeightMatch::Pair& pair : match.pairs) found.insert(pair.name);
  std::set<const torch::TensorImpl*> tensors;
  for (const auto& item : model.named_parameters())
    if (!found.contains(item.key()) || !tensors.insert(item.value().unsafeGetTensorImpl()).second)
      return false;
  return true;
}

InitialModel from_weights_file(const Recipe& recipe, const DataSpec& data, World& world) {
  const ModelCommon& common = recipe.model.common;
  InitialModel initial{build_hollow_model(recipe, data), {.from = From::every_rank}};
  Model& model = *initial.model;
  WeightMatch match = match_weights(model, *common.weights, common);
  if (world.any(!has_all_parameters(match, model), "whether the file has all weights"))
    return from_rank_0(recipe, data, world);
  const auto parameters = model.named_parameters();
  const torch::NoGradGuard no_grad;
  for (const WeightMatch::Pair& pair : match.pairs) {
    if (parameters.contains(pair.name)) {
      initial.values.tensors[pair.name] = pair.from;
    } else {
      torch::Tensor(pair.into).copy_(pair.from);
    }
  }
  initial.values.give_back = [files = std::move(match.files)](const torch::Tensor& read) {
    files.give_back(read);
    require_whole_files();
  };
  log::info(match.summary.text());
  freeze_parameters(model, common.freeze);
  return initial;
}

}  // namespace

InitialModel build_initial_model(const Recipe& recipe, const DataSpec& data, World& world, bool resumes) {
  const bool in_parts = !world.alone() && recipe.distributed.strategy == RankStrategy::zero3;
  // A checkpoint of an adapter holds nothing else.
  if (recipe.model.common.adapter)
    return in_parts ? from_rank_0(recipe, data, world) : InitialModel{build_model(recipe, data)};
  if (resumes) {
    InitialModel initial = in_parts ? InitialModel{build_hollow_model(recipe, data), {.from = From::nowhere}}
                                    : InitialModel{build_bare_model(recipe, data)};
    freeze_parameters(*initial.model, recipe.model.common.freeze);
    return initial;
  }
  if (!in_parts) return {build_model(recipe, data)};
  return recipe.model.common.weights ? from_weights_file(recipe, data, world)
                                     : from_rank_0(recipe, data, world);
}

}  // namespace runner
