#include "runner/predict/offload/offloaded_weights.hpp"

#include <ATen/autocast_mode.h>

#include <algorithm>

#include "components/precisions/no_autocast_cache.hpp"
#include "registry/files/mapping_guard.hpp"
#include "runner/predict/offload/operator_arguments.hpp"

namespace runner {

namespace {

std::int64_t bytes_of(const std::vector<WeightMatch::Pair>& parameters) {
  std::int64_t bytes = 0;
  for (const WeightMatch::Pair& each : parameters) bytes += static_cast<std::int64_t>(each.into.nbytes());
  return bytes;
}

}  // namespace

OffloadedWeights::OffloadedWeights(WeightFiles files, std::vector<Placed> units, torch::Device device,
                                   torch::MemoryFormat layout)
    : files_(std::move(files)), device_(device) {
  for (auto& [parameters, place] : units) {
    const std::int64_t bytes = bytes_of(parameters);
    units_.push_back({OffloadedUnit(std::move(parameters), files_, device, layout), place, bytes});
  }
}

void OffloadedWeights::load() {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    OffloadedUnit& unit = units_[i].parameters;
    const std::string& place = units_[i].place;
    units_[i].stays = place == device_.str() || (place != "disk" && place != "cpu");
    if (place == device_.str()) {
      unit.bring();
    } else if (units_[i].stays) {
      unit.move_to(torch::Device(place));
    } else if (place == "cpu") {
      unit.keep_in_main_memory();
    }
    for (const WeightMatch::Pair& each : unit.parameters())
      unit_of_[each.into.storage().unsafeGetStorageImpl()] = i;
  }
  require_whole_files();
}

void OffloadedWeights::run(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  std::vector<std::size_t> units;
  std::optional<torch::Device> device;
  for_each_tensor(op, stack, [&](const torch::Tensor& tensor) {
    if (!tensor.has_storage()) return;
    const auto found = unit_of_.find(tensor.storage().unsafeGetStorageImpl());
    if (found == unit_of_.end()) return;
    device = tensor.device();
    const std::size_t unit = found->second;
    if (!units_[unit].stays && std::ranges::find(units, unit) == units.end()) units.push_back(unit);
  });
  if (!units.empty()) need(units);
  bring_together(op, stack, device);
  // Autocast would keep its copies of all parameters until the end of the pass: half the size of the model.
  const NoAutocastCache no_cache;
  op.callBoxed(&stack);
}

void OffloadedWeights::need(std::span<const std::size_t> needed) {
  for (const std::size_t unit : needed) {
    if (units_[unit].parameters.present()) {
      std::erase(present_, unit);
    } else {
      make_room(needed);
      units_[unit].parameters.bring();
      require_whole_files();
      present_bytes_ += units_[unit].bytes;
      peak_bytes_ = std::max(peak_bytes_, present_bytes_);
    }
    present_.push_back(unit);
  }
  announce_next(needed.back());
}

// In addition to what this operator needs, the unit used last may stay: residual layers use it again.
void OffloadedWeights::make_room(std::span<const std::size_t> needed) {
  if (present_.empty()) return;
  const auto spare = [&, last = present_.back()](std::size_t unit) {
    return unit != last && std::ranges::find(needed, unit) == needed.end();
  };
  for (const std::size_t unit : present_) {
    if (!spare(unit)) continue;
    units_[unit].parameters.release();
    present_bytes_ -= units_[unit].bytes;
  }
  std::erase_if(present_, spare);
}

// Prefetches the unit that followed this one in the last pass; in the first pass, the next one of the model.
void OffloadedWeights::announce_next(std::size_t unit) {
  if (current_ == unit) return;
  if (current_) next_[*current_] = unit;
  current_ = unit;
  const auto known = next_.find(unit);
  const std::size_t next = known == next_.end() ? unit + 1 : known->second;
  if (next < units_.size() && !units_[next].parameters.present()) units_[next].parameters.will_need();
}

}  // namespace runner
