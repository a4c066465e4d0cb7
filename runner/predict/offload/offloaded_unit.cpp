#include "runner/predict/offload/offloaded_unit.hpp"

#include <torch/utils.h>

#include "runner/engine/zero3/storage_memory.hpp"

namespace runner {

namespace {

constexpr auto in_their_file =
    "The weights are in their file (--offload): only a pass of the model brings them into memory.";

}  // namespace

OffloadedUnit::OffloadedUnit(std::vector<WeightMatch::Pair> parameters, const WeightFiles& files,
                             torch::Device device, torch::MemoryFormat layout)
    : parameters_(std::move(parameters)), files_(files) {
  for (const auto& [name, parameter, source] : parameters_)
    place_without_memory(parameter, device, layout, in_their_file);
}

void OffloadedUnit::bring() {
  if (present_) return;
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter, source] : parameters_) {
    allocate_memory(parameter);
    torch::Tensor(parameter).copy_(source);
    files_.give_back(source);
  }
  present_ = true;
}

void OffloadedUnit::release() {
  if (!present_) return;
  for (const auto& [name, parameter, source] : parameters_) free_memory(parameter, in_their_file);
  present_ = false;
}

void OffloadedUnit::will_need() const {
  for (const auto& [name, parameter, source] : parameters_) files_.will_need(source);
}

void OffloadedUnit::move_to(torch::Device device) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter, source] : parameters_) {
    const torch::Tensor moved =
        torch::empty_strided(parameter.sizes(), parameter.strides(), parameter.options().device(device));
    replace(parameter, moved.copy_(source));
    files_.give_back(source);
  }
  present_ = true;
}

void OffloadedUnit::keep_in_main_memory() {
  for (auto& [name, parameter, source] : parameters_) {
    const torch::Tensor mapped = std::exchange(source, source.clone());
    files_.give_back(mapped);
  }
}

}  // namespace runner
