#pragma once

#include <ATen/core/Generator.h>

namespace simulated_gpu {

const at::Generator& default_generator(int device);
at::Generator new_generator(int device);

// The generator of the CPU inside one of a device: kernels draw from it.
at::Generator drawn_from(const at::Generator& generator);

}  // namespace simulated_gpu
