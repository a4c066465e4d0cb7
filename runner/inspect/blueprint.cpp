#include "runner/inspect/blueprint.hpp"

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>

#include "components/models/weights/adapt_model.hpp"
#include "components/models/weights/load_weights.hpp"
#include "components/torch/meta_mode.hpp"
#include "registry/base/byte_size.hpp"
#include "registry/base/log.hpp"
#include "registry/recipe_error.hpp"
#include "registry/registry.hpp"
#include "runner/engine/runtime/memory.hpp"
#include "runner/recipe/parts.hpp"

namespace runner {

bool from_plugin(const Part<ModelKind>& model) {
  return find_component(Registry::of_linked(), ModelKind::name, model.name()).library != nullptr;
}

Blueprint draw_blueprint(const Recipe& recipe) {
  std::unique_ptr<Dataset> dataset = build_dataset(recipe);
  const DataSpec data = spec_after_transforms(recipe, *dataset, /*training=*/true);
  if (std::ranges::any_of(data.input_shape, [](std::int64_t size) { return size < 0; })) {
    throw RecipeError(
        recipe.dataset.origin(),
        "the images may differ in size, and nothing makes them equal: add a transform such as { name = "
        "\"resize\", height = 224, width = 224 } to dataset.transform");
  }
  // One example of each class: the counts do not affect shapes.
  std::unique_ptr<Loss> loss = build_loss(
      recipe, data, [&] { return std::vector<std::int64_t>(static_cast<std::size_t>(data.classes), 1); });
  return {data, sketch_model(recipe, data), std::move(loss), std::move(dataset)};
}

std::shared_ptr<Model> bare_sketch(const Recipe& recipe, const DataSpec& data) {
  // On the meta device, code that reads the values of a tensor would read memory that does not exist.
  if (from_plugin(recipe.model)) return build_structure(recipe.model, data);
  MetaMode meta(MetaMode::most_of_a_model);
  const OperatorModeScope scope(meta);
  return build_structure(recipe.model, data);
}

std::shared_ptr<Model> sketch_model(const Recipe& recipe, const DataSpec& data) {
  std::shared_ptr<Model> model = bare_sketch(recipe, data);
  if (!recipe.model.common.adapter) return model;
  MetaMode meta(MetaMode::most_of_a_model);
  const OperatorModeScope scope(meta);
  adapt_sketch(*model, *recipe.model.common.adapter);
  return model;
}

Inspection inspect(const Recipe& recipe, Blueprint& blueprint) {
  constexpr std::int64_t plenty = 8;       // times as much memory as needed
  constexpr std::int64_t small = 1 << 29;  // larger models take long to initialise
  constexpr double quick = 2e11;           // additions and multiplications
  const auto fits = [&](const Inspection& found) {
    const std::int64_t bytes = found.weight_bytes + 2 * found.activation_bytes_per_example;
    return bytes <= small && bytes <= main_memory().available / plenty &&
           found.forward_flops_per_example <= quick;
  };
  const Places places{recipe.model.origin(), recipe.loss.origin()};
  Inspection sketched = count_weights(*blueprint.model);
  if (!on_meta(*blueprint.model)) return inspect(*blueprint.model, *blueprint.loss, blueprint.data, places);
  const bool small_enough = fits(sketched);
  try {
    sketched = inspect(*blueprint.model, *blueprint.loss, blueprint.data, places);
  } catch (const std::exception&) {
    if (!small_enough) throw;  // otherwise the real model gives a better error
  }
  if (!fits(sketched)) return sketched;
  blueprint.model = build_bare_model(recipe, blueprint.data);
  if (recipe.model.common.adapter) adapt_sketch(*blueprint.model, *recipe.model.common.adapter);
  return inspect(*blueprint.model, *blueprint.loss, blueprint.data, places);
}

namespace {

// A lower bound of the memory for weights and gradients where one rank computes. `hollow`: with zero3 the
// model can be built without memory for all of its weights.
std::int64_t least_bytes_of_rank(const Recipe& recipe, std::int64_t weights, bool hollow, const World& world,
                                 bool on_device) {
  const DistributedOptions& distributed = recipe.distributed;
  const bool all_trained = recipe.model.common.freeze.empty() && !recipe.model.common.adapter;
  const std::int64_t gradients = all_trained ? weights : 0;
  std::int64_t rank = weights + gradients;
  if (!world.alone() && distributed.strategy == RankStrategy::zero2)
    rank = weights + gradients / world.size();
  if (!world.alone() && distributed.strategy == RankStrategy::zero3) {
    const std::int64_t group = distributed.shard_group > 0 ? distributed.shard_group : world.size();
    std::int64_t kept = distributed.offload == Offload::disk ? gradients : weights + gradients;
    if (on_device && distributed.offload != Offload::none) kept = 0;
    rank = std::max(hollow ? 0 : weights, kept / group);
  }
  return rank;
}

// The same for the main memory of this machine.
std::int64_t least_bytes(const Recipe& recipe, std::int64_t weights, bool hollow, const World& world,
                         const torch::Device& device) {
  const bool sharded = !world.alone() && recipe.distributed.strategy == RankStrategy::zero3;
  if (!device.is_cpu()) return sharded && hollow ? 0 : weights;  // where they are built
  return least_bytes_of_rank(recipe, weights, hollow, world, /*on_device=*/false) * world.local_size();
}

// Throws if the model cannot be trained in the memory of the device.
void require_device_memory(const Recipe& recipe, const Inspection& found, bool hollow, const World& world,
                           const torch::Device& device) {
  if (device.is_cpu()) return;
  const std::int64_t needed =
      least_bytes_of_rank(recipe, found.weight_bytes, hollow, world, /*on_device=*/true);
  std::uint64_t total = 0;
  try {
    total = at::getDeviceAllocator(device.type())->getMemoryInfo(device.index()).second;
  } catch (const c10::Error&) {  // this type of device does not say
    return;
  }
  if (static_cast<std::uint64_t>(needed) <= total) return;
  const auto [takes, has] = distinguishable({static_cast<std::uint64_t>(needed)}, {total});
  throw std::runtime_error(
      log::format("The model has {} parameters. Training it takes at least {} of memory on {}, which has {}. "
                  "Choose a smaller "
                  "model, or divide it among several devices with distributed.strategy = \"zero3\"; `runner "
                  "estimate` says what "
                  "one takes.",
                  found.parameters, takes, device.str(), has));
}

}  // namespace

void require_memory(const Recipe& recipe, const DataSpec& data, const World& world,
                    const torch::Device& device) {
  if (from_plugin(recipe.model)) return;
  const std::shared_ptr<Model> sketch = sketch_model(recipe, data);
  const Inspection found = count_weights(*sketch);
  require_device_memory(recipe, found, on_meta(*sketch), world, device);
  const std::int64_t needed = least_bytes(recipe, found.weight_bytes, on_meta(*sketch), world, device),
                     total = main_memory().total;
  if (total == 0 || needed <= total) return;
  const auto [takes, has] =
      distinguishable({static_cast<std::uint64_t>(needed)}, {static_cast<std::uint64_t>(total)});
  const std::string who =
      world.local_size() > 1 ? log::format("Training it on {} ranks", world.local_size()) : "Training it";
  throw std::runtime_error(log::format(
      "The model has {} parameters. {} takes at least {} of memory on this machine, which has {}. Choose a "
      "smaller model or fewer ranks for each machine; `runner estimate` says what one takes.",
      found.parameters, who, takes, has));
}

}  // namespace runner
