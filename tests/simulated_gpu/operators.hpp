#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace simulated_gpu {

// Carries out an operator with the CPU's kernel on the memory of the device.
void run_operator(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// Registers it for every operator that has a kernel of the CPU: without one for the device LibTorch would
// compose some of them of others, with other bits. Once all libraries are loaded.
void take_kernels_of_cpu();

}  // namespace simulated_gpu
