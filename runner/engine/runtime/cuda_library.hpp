#pragma once

#include <string>

namespace runner {

// The code that needs CUDA headers is a separate library, built from runner/cuda/ with a CUDA build of
// LibTorch and loaded only if the program uses GPUs. The program itself is the same without it.
struct CudaLibrary {
  static constexpr auto name = "librunner_cuda.so";

  void* handle = nullptr;  // null: it cannot be loaded
  std::string problem = {};
};

// Loads the library on the first call. It stays loaded, because LibTorch keeps pointers into it.
const CudaLibrary& cuda_library();

}  // namespace runner
