#include "runner/predict/offload/offload_model.hpp"

#include <ATen/DeviceAccelerator.h>
#include <malloc.h>
#include <torch/utils.h>

#include "registry/files/mapping_guard.hpp"
#include "runner/engine/runtime/device.hpp"
#include "runner/engine/runtime/memory.hpp"
#include "runner/engine/zero3/parameter_units.hpp"
#include "runner/inspect/hollow_model.hpp"

namespace runner {

namespace {

using Units = std::vector<std::vector<NamedTensor>>;

// 90 % of the memory that is free now: activations need some, too.
std::vector<Capacity> free_memory(const torch::Device& device) {
  const auto most = [](std::uint64_t bytes) { return bytes / 10 * 9; };
  std::vector<Capacity> found;
  if (!device.is_cpu()) {
    const c10::DeviceIndex count = at::accelerator::deviceCount();
    for (c10::DeviceIndex step = 0; step < count; ++step) {  // starting with `device`
      const auto index = static_cast<c10::DeviceIndex>((device.index() + step) % count);
      found.push_back(
          {torch::Device(device.type(), index).str(), most(at::accelerator::getMemoryInfo(index).first)});
    }
  }
  found.push_back({"cpu", most(static_cast<std::uint64_t>(main_memory().available))});
  return found;
}

std::vector<std::string> places_of(const Units& units, const std::vector<Capacity>& most,
                                   const torch::Device& device) {
  std::vector<std::uint64_t> bytes;
  for (const auto& unit : units) {
    bytes.push_back(0);
    for (const NamedTensor& each : unit) bytes.back() += each.tensor.nbytes();
  }
  return fill_in_order(bytes, most.empty() ? free_memory(device) : most);
}

// The units with their places; a unit whose parameters have different places is split.
std::vector<std::pair<std::vector<NamedTensor>, std::string>> placed(const Units& units, const DeviceMap& map,
                                                                     const std::vector<Capacity>& most,
                                                                     const torch::Device& device) {
  const auto automatic = map.automatic ? places_of(units, most, device) : std::vector<std::string>();
  std::vector<std::pair<std::vector<NamedTensor>, std::string>> all;
  for (std::size_t i = 0; i < units.size(); ++i) {
    std::map<std::string, std::vector<NamedTensor>> by_place;
    for (const NamedTensor& each : units[i])
      by_place[map.automatic ? automatic[i] : place_by_rules(map, each.name)].push_back(each);
    for (auto& [place, parameters] : by_place) all.emplace_back(std::move(parameters), place);
  }
  return all;
}

// Replaces "cuda" by the first GPU, and throws if a device does not exist.
DeviceMap resolved(DeviceMap map) {
  for (auto& [pattern, place] : map.rules)
    if (place != "disk") place = resolve_device(place).str();
  return map;
}

// Units are allocated and freed all the time; with mmap they do not fragment the heap.
void give_large_blocks_back() {
  constexpr int mebibyte = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, mebibyte);
}

}  // namespace

std::unique_ptr<OffloadedWeights> offload_weights(const torch::nn::Module& model,
                                                  const std::filesystem::path& file,
                                                  const torch::Device& device, torch::MemoryFormat layout,
                                                  const OffloadOptions& options, const RenameWeight& rename) {
  const DeviceMap map = resolved(options.map);
  give_large_blocks_back();
  WeightMatch match = match_weights(model, file, {}, rename);
  std::map<std::string, WeightMatch::Pair> parameters;
  {
    const torch::NoGradGuard no_grad;
    const auto own = model.named_parameters();
    require_matches(map, own.keys());
    for (WeightMatch::Pair& pair : match.pairs) {
      if (own.contains(pair.name)) {
        parameters.emplace(pair.name, std::move(pair));
      } else {  // buffers are small
        pair.into.copy_(pair.from);
        match.files.give_back(pair.from);
      }
    }
    require_whole_files();
  }
  std::vector<OffloadedWeights::Placed> units;
  for (const auto& [unit, place] :
       placed(cut_into_units(model, options.unit_bytes), map, options.most, device)) {
    units.push_back({{}, place});
    for (const NamedTensor& each : unit) units.back().parameters.push_back(parameters.at(each.name));
  }
  return std::make_unique<OffloadedWeights>(std::move(match.files), std::move(units), device, layout);
}

std::vector<std::pair<std::string, std::string>> places_of_parameters(const torch::nn::Module& model,
                                                                      const torch::Device& device,
                                                                      const OffloadOptions& options) {
  std::vector<std::pair<std::string, std::string>> places;
  for (const auto& [unit, place] :
       placed(cut_into_units(model, options.unit_bytes), resolved(options.map), options.most, device))
    for (const NamedTensor& each : unit) places.emplace_back(each.name, place);
  return places;
}

OffloadedModel offload_model(const Recipe& recipe, const DataSpec& data, const std::filesystem::path& file,
                             const OffloadOptions& options) {
  std::shared_ptr<Model> model = build_hollow_model(recipe, data);
  const bool channels_last =
      recipe.run.memory_format == MemoryFormat::channels_last ||
      (recipe.run.memory_format == MemoryFormat::automatic && model->prefers_channels_last());
  const auto layout = channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
  auto weights = offload_weights(*model, file, resolve_device(recipe.run.device), layout, options);
  return {std::move(model), std::move(weights)};
}

}  // namespace runner
