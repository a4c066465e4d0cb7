#include "runner/engine/runtime/generators.hpp"

#include <ATen/Context.h>

#include <mutex>

namespace runner {

namespace {

torch::Tensor state_of(torch::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void set_state(torch::Device device, const torch::Tensor& state) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state.contiguous());
}

}  // namespace

State Generators::save() const {
  State state{.tensors = {{"cpu", state_of(torch::kCPU)}}};
  if (!device_.is_cpu()) state.tensors["device"] = state_of(device_);
  return state;
}

void Generators::load(const State& state) {
  StateReader saved(state);
  set_state(torch::kCPU, saved.tensor("cpu"));
  // A run may resume on another kind of device: every window has its own seed.
  if (const torch::Tensor* of_device = saved.find_tensor("device"); of_device && !device_.is_cpu())
    set_state(device_, *of_device);
  saved.finish();
}

}  // namespace runner
